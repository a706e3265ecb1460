"""The picture of a trajectory graph: layers, widths, colours, marks, and merged edges."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.core.table import StepTable
from cairn.trainer.credit.trajectory_graph import TrajectoryGraph, trajectory_graph
from cairn.viewer.graph_view import GAP_X, MARGIN, MOST_NODES, curve, layered, picture, tone
from tests.viewer.stored import CELLAR, HALL, KITCHEN


def two_ways() -> TrajectoryGraph:
    """Return: hall go kitchen, kitchen open WIN; hall go cellar, cellar wait LOSE."""
    return trajectory_graph(
        StepTable.from_columns(
            group=[0] * 4, episode=[0, 0, 1, 1], turn=[0, 1, 0, 1], anchor=[HALL, KITCHEN, HALL, CELLAR],
            action=[1, 2, 3, 4], reward=[0, 1, 0, 0], success=[True, True, False, False],
        )
    )  # fmt: skip


def test_states_are_placed_by_the_turn_of_their_first_visit() -> None:
    drawn = picture(two_ways(), np.zeros(4), np.zeros(4))
    assert {node.key or node.kind: (node.x - MARGIN) / GAP_X for node in drawn.nodes} == {
        HALL: 0, KITCHEN: 1, CELLAR: 1, "success": 2, "failure": 2,
    }  # fmt: skip


def test_colours_and_marks_are_those_of_the_two_methods() -> None:
    drawn = picture(two_ways(), np.array([1.0, 0.4, -1.0, 0.0]), np.array([1.0, -0.4, -1.0, 0.0]))
    by_action = {edge.action: edge for edge in drawn.edges}
    assert [by_action[a].tone for a in (1, 2, 3, 4)] == [3, 1, -3, 0]
    assert [by_action[a].is_changed for a in (1, 2, 3, 4)] == [False, True, False, False]
    assert [node.key for node in drawn.nodes if node.is_changed] == [KITCHEN]
    assert (by_action[2].first, by_action[2].second, drawn.num_changed) == (0.4, -0.4, 1)


def test_an_edge_has_the_mean_of_its_steps_and_their_number_as_width() -> None:
    table = StepTable.from_columns(
        group=[0] * 4, episode=[0, 1, 2, 3], turn=[0] * 4, anchor=[HALL] * 4, action=[1] * 4, reward=[1] * 4,
        success=[True] * 4,
    )  # fmt: skip
    drawn = picture(trajectory_graph(table), np.array([1.0, 2.0, 3.0, 6.0]), np.zeros(4))
    assert [(len(edge.steps), edge.first, edge.width) for edge in drawn.edges] == [(4, 3.0, 1.2 + 1.6 * 2)]
    assert [node.kind for node in drawn.nodes] == ["state", "success"]  # nobody reached failure


def test_a_large_graph_is_summarised() -> None:
    n = 20 * MOST_NODES  # episodes of two steps, each with a state of its own; and all through the hall
    table = StepTable.from_columns(
        group=[0] * (2 * n), episode=np.repeat(np.arange(n), 2), turn=[0, 1] * n,
        anchor=[key for i in range(n) for key in (HALL, 1000 + i)], action=[1, 2] * n, reward=[0.0, 1.0] * n,
        success=[True] * (2 * n),
    )  # fmt: skip
    drawn = picture(trajectory_graph(table), np.zeros(2 * n), np.zeros(2 * n))
    assert len(drawn.nodes) <= MOST_NODES + 1
    assert drawn.num_states == n + 1
    assert drawn.num_merged + sum(node.kind == "state" for node in drawn.nodes) == n + 1
    assert sum(len(edge.steps) for edge in drawn.edges) == 2 * n  # no step is lost
    assert [node.merged for node in drawn.nodes if node.kind == "others"] == [drawn.num_merged]


def test_crossings_are_undone() -> None:
    # a and b lead to d and c: placed in their own order they would cross
    places = layered([0, 0, 1, 1], {(0, 3): 1, (1, 2): 1}).places
    assert (places[0][1] < places[1][1]) == (places[3][1] < places[2][1])


def test_the_same_graph_always_looks_the_same() -> None:
    first, second = (picture(two_ways(), np.ones(4), np.ones(4)) for _ in range(2))
    assert first == second


def test_edges_of_one_pair_take_lanes_of_their_own() -> None:
    paths = {curve((0, 0), (100, 0), (5, 5), lane) for lane in range(4)}
    assert len(paths) == 4


@pytest.mark.parametrize(
    ("value", "expected"), [(0.0, 0), (0.1, 0), (0.2, 1), (0.6, 2), (1.0, 3), (9.0, 3), (-0.2, -1), (-9.0, -3)]
)
def test_tones_are_thirds_of_the_scale(value: float, expected: int) -> None:
    assert tone(value, 1.0) == expected
