"""The trajectory graph and the values on it, on graphs small enough to solve by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.kernel import values
from cairn.trainer.credit.kernel.graph import Graph, Timeout, build_graph
from tests.trainer.credit.columns import table as steps
from tests.trainer.credit.golden import e2, paths


def graph_of(table: StepTable, timeout: Timeout = "failure") -> Graph:
    return build_graph(table, table.anchor, table.next_anchor, timeout)


def at(table: StepTable, graph: Graph, value: Floats, *rows: int) -> list[float]:
    """Return the values of the states in which the rows stand."""
    assert len(value) == graph.num_nodes + 1
    assert value[-1] in (0.0, np.inf)
    return [float(value[graph.tail[row]]) for row in rows]


# --- the graph -------------------------------------------------------------------------------------------------------


def test_the_worked_example_of_the_graph() -> None:
    table = paths("s0 a u c -", "s0 b w d u c +")
    graph = graph_of(table)
    s0, u, w = graph.tail[0], graph.tail[1], graph.tail[3]
    assert sorted([s0, u, w]) == [0, 1, 2]
    assert graph.num_nodes == 3
    np.testing.assert_array_equal(graph.tail, [s0, u, s0, w, u])
    np.testing.assert_array_equal(graph.head, [u, 3, w, u, 3])
    np.testing.assert_array_equal(graph.ends, [False, True, False, False, True])
    np.testing.assert_array_equal(graph.is_win, [False, False, False, False, True])
    np.testing.assert_array_equal(graph.group_of_node, [0, 0, 0])
    assert graph.num_pairs == 4
    assert graph.pair[1] == graph.pair[4]
    assert len({*graph.pair.tolist()}) == 4


def test_an_action_means_nothing_outside_its_state() -> None:
    assert graph_of(paths("s a u a +")).num_pairs == 2


def test_equal_keys_of_two_groups_are_two_nodes() -> None:
    graph = graph_of(paths("s a u c +", "s a u c -", groups=[0, 1]))
    assert graph.num_nodes == 4
    assert graph.num_pairs == 4
    np.testing.assert_array_equal(graph.group_of_node[graph.tail], [0, 0, 1, 1])


@pytest.mark.parametrize("ending", ["u", "w", "?"])
def test_a_timeout_is_the_end_where_it_is_a_failure(ending: str) -> None:
    graph = graph_of(paths("s a u c +", f"s b {ending}"))
    np.testing.assert_array_equal(graph.ends, [False, True, True])
    np.testing.assert_array_equal(graph.is_win, [False, True, False])
    assert graph.num_nodes == 2


@pytest.mark.parametrize(("ending", "num_nodes"), [("u", 2), ("w", 3), ("?", 3)])
def test_an_open_timeout_leads_to_the_state_that_it_stopped_in(ending: str, num_nodes: int) -> None:
    graph = graph_of(paths("s a u c +", f"s b {ending}"), "open")
    assert graph.num_nodes == num_nodes
    np.testing.assert_array_equal(graph.ends, [False, True, False])
    assert (graph.head[2] == graph.tail[1]) == (ending == "u")
    assert (graph.head[2] in graph.tail) == (ending == "u")


def test_open_timeouts_of_two_groups_lead_to_two_nodes() -> None:
    graph = graph_of(paths("s b w", "s b w", "s b w", groups=[0, 0, 1]), "open")
    assert graph.head[0] == graph.head[1] != graph.head[2]
    np.testing.assert_array_equal(graph.group_of_node[graph.head], [0, 0, 1])


def test_unrecorded_states_are_not_merged_with_others() -> None:
    graph = graph_of(paths("s b ?", "s b ?"), "open")
    assert graph.head[0] != graph.head[1]


def test_without_a_key_of_the_next_state_a_timeout_is_the_end() -> None:
    table = paths("s a u c +", "s b u")
    np.testing.assert_array_equal(build_graph(table, table.anchor, None, "open").ends, [False, True, True])


# --- values of steps and visits


def test_outcomes_are_discounted_once_more_than_returns() -> None:
    # from behind: 0.5 x 4 = 2; 0.5 x (1 + 2) = 1.5; 0.5 x (0 + 1.5)
    table = steps([("s", 0.0), ("t", 1.0), ("u", 4.0)], [("s", 2.0)])
    np.testing.assert_allclose(values.outcomes(table, 0.5), [0.75, 1.5, 2.0, 1.0], atol=1e-12)


def test_landings_earn_the_reward_on_arrival() -> None:
    table = steps([("s", 3.0), ("t", 1.0)])
    graph = graph_of(table)
    value = np.zeros(3)
    value[graph.tail] = [10.0, 20.0]
    np.testing.assert_allclose(values.next_values(table, graph, value), [23.0, 1.0], atol=1e-12)


def test_node_means_are_exact_for_equal_values_and_zero_without_steps() -> None:
    table = paths("s a +", "s a +", "s a +", "t b w")
    graph = graph_of(table, "open")
    found = values.node_means(graph, np.array([0.1, 0.1, 0.1, 7.0]))
    assert found[graph.tail[0]] == 0.1
    assert found[graph.tail[3]] == 7.0
    assert found[graph.head[3]] == 0.0


def test_visit_means_pool_nothing() -> None:
    # gamma 0.5: u: 0.5, 0, 0.5; w: both visits of the episode that failed; s0: 0.25, 0, 0.25
    graph = graph_of(e2())
    found = at(e2(), graph, values.visit_means(e2(), graph, 0.5), 0, 1, 3)
    np.testing.assert_allclose(found, [1 / 6, 1 / 3, 0], atol=1e-12)


def test_root_means_are_those_of_the_groups_episodes() -> None:
    # 0.5 x 1 and 0.5 x 0.5 x 1, mean 0.375; 0
    table = paths("s a +", "s a t b +", "s a -", groups=[0, 0, 1])
    np.testing.assert_allclose(values.start_values(table, 0.5), [0.375, 0.0], atol=1e-12)


# --- the fixed point -------------------------------------------------------------------------------------------------


def test_values_of_the_golden_table() -> None:
    # gamma 0.5: u 0.5 x 2 / 3; w = 0.5 (w + u) / 2, so w = u / 3; s0 = 0.5 (u + w + u) / 3 = (1/3 + 1/18) / 3
    graph = graph_of(e2())
    found = at(e2(), graph, values.fixed_point(e2(), graph, 0.5), 0, 1, 3)
    np.testing.assert_allclose(found, [7 / 54, 1 / 3, 1 / 9], atol=1e-12)


def test_a_loop_is_solved_for() -> None:
    # s to t and back, then success: V(s) = 0.5 (V(t) + 1) / 2, V(t) = 0.5 V(s): V(s) = 0.25 / (1 - 0.125)
    table = paths("s a t b s c +")
    found = at(table, graph_of(table), values.fixed_point(table, graph_of(table), 0.5), 0, 1)
    np.testing.assert_allclose(found, [2 / 7, 1 / 7], atol=1e-12)


def test_rewards_on_the_way_are_earned() -> None:
    # V(t) = 0.5 x 1, V(s) = 0.5 (3 + 0.5)
    table = steps([("s", 3.0), ("t", 1.0)])
    found = at(table, graph_of(table), values.fixed_point(table, graph_of(table), 0.5), 0, 1)
    np.testing.assert_allclose(found, [1.75, 0.5], atol=1e-12)


def test_a_reward_at_every_turn_of_a_loop_adds_up() -> None:
    # V = 0.5 (1 + V + 1) / 2 where one step stays and one ends, each earning 1: V = 0.5 / 0.75
    table = steps([("s", 1.0), ("s", 1.0)])
    assert at(table, graph_of(table), values.fixed_point(table, graph_of(table), 0.5), 0) == pytest.approx([2 / 3])


def test_without_discount_the_value_is_the_chance_of_success() -> None:
    table = paths(
        "s a s a s a +", "s b -"
    )  # three steps a (two of which stay) and one b: of those that leave, half win
    assert at(table, graph_of(table), values.fixed_point(table, graph_of(table), 1.0), 0) == pytest.approx([0.5])


def test_two_groups_with_equal_keys_do_not_mix() -> None:
    table = paths("s a u c +", "s a u c -", groups=[0, 1])
    found = at(table, graph_of(table), values.fixed_point(table, graph_of(table), 0.5), 0, 1, 2, 3)
    np.testing.assert_allclose(found, [0.25, 0.5, 0, 0], atol=1e-12)


@pytest.mark.parametrize(("timeout", "expected"), [("failure", [0.125, 0.5]), ("open", [0.25, 0.5])])
def test_the_value_of_a_timeout_is_0_or_that_of_the_state(timeout: Timeout, expected: list[float]) -> None:
    # s led to u, and to nothing or to u again
    table = paths("s a u c +", "s b u")
    graph = graph_of(table, timeout)
    np.testing.assert_allclose(at(table, graph, values.fixed_point(table, graph, 0.5), 0, 1), expected, atol=1e-12)


def test_pseudo_visits_have_the_value_of_the_prior() -> None:
    # k = 2, prior 0.8 at s and 0.2 at u: V(u) = (0.5 + 0.4) / 3 = 0.3; V(s) = (0.5 x 0.3 + 1.6) / 3
    table = paths("s a u c +")
    graph = graph_of(table)
    prior = np.zeros(2)
    prior[graph.tail] = [0.8, 0.2]
    found = at(table, graph, values.fixed_point(table, graph, 0.5, 2.0, prior), 0, 1)
    np.testing.assert_allclose(found, [1.75 / 3, 0.3], atol=1e-12)
    same = values.fixed_point(table, graph, 0.5, 2.0, 0.2)
    np.testing.assert_allclose(at(table, graph, same, 0, 1), [0.55 / 3, 0.3], atol=1e-12)


@pytest.mark.parametrize(("weight", "cut", "before"), [(0.0, 0.0, 0.0), (0.5, 0.6, (0.3 + 0.3) / 1.5)])
def test_the_value_of_a_state_that_no_step_left_is_its_prior_or_0(weight: float, cut: float, before: float) -> None:
    # k = 0.5, prior 0.6: w has no step: 0.6; s = (0.5 x 0.6 + 0.5 x 0.6) / 1.5
    table = paths("s a w")
    graph = graph_of(table, "open")
    found = values.fixed_point(table, graph, 0.5, weight, 0.6)
    assert found[graph.head[0]] == pytest.approx(cut)
    assert found[graph.tail[0]] == pytest.approx(before)


def test_many_pseudo_visits_leave_the_prior() -> None:
    graph = graph_of(e2())
    np.testing.assert_allclose(values.fixed_point(e2(), graph, 0.9, 1e12, 0.7)[:-1], 0.7, atol=1e-9)


def wander(seed: int) -> StepTable:
    """Return forty episodes of two tasks over ten states, some of them cut by a budget."""
    rng = np.random.default_rng(seed)
    walks = [" ".join(f"s{rng.integers(10)} a{rng.integers(3)}" for _ in range(rng.integers(1, 15))) for _ in range(40)]
    return paths(*(f"{walk} {rng.choice(['+', '-', 's3'])}" for walk in walks), groups=[0] * 20 + [1] * 20)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("weight", "prior"), [(0.0, 0.0), (0.3, 0.4)])
def test_sweeps_converge_to_the_direct_solution(
    seed: int, weight: float, prior: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = wander(seed)
    graph = graph_of(table, "open")
    direct = values.fixed_point(table, graph, 0.95, weight, prior)
    assert direct[:-1].std() > 0.01
    monkeypatch.setattr(values, "LARGEST_BLOCK", 0)
    np.testing.assert_allclose(values.fixed_point(table, graph, 0.95, weight, prior), direct, atol=1e-10)


def test_the_fixed_point_solves_its_equation() -> None:
    table = wander(3)
    graph = graph_of(table, "open")
    value = values.fixed_point(table, graph, 0.9, 0.5, 0.3)
    for node in range(graph.num_nodes):
        rows = np.flatnonzero(graph.tail == node)
        landed = [table.reward[row] + value[graph.head[row]] for row in rows]
        assert value[node] * (len(rows) + 0.5) == pytest.approx(0.9 * sum(landed) + 0.5 * 0.3)


# --- backups, best and distance --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (0, [1 / 6, 1 / 3, 0]),
        (1, [1 / 9, 1 / 3, 1 / 12]),  # w: 0.5 (0 + 1/3) / 2; s0: 0.5 (1/3 + 0 + 1/3) / 3
        (2, [1 / 8, 1 / 3, 5 / 48]),  # w: 0.5 (1/12 + 1/3) / 2; s0: 0.5 (1/3 + 1/12 + 1/3) / 3
        (60, [7 / 54, 1 / 3, 1 / 9]),
    ],
)
def test_each_backup_takes_the_mean_one_step_further(depth: int, expected: list[float]) -> None:
    graph = graph_of(e2())
    found = values.backups(e2(), graph, 0.5, values.visit_means(e2(), graph, 0.5), depth)
    np.testing.assert_allclose(at(e2(), graph, found, 0, 1, 3), expected, atol=1e-12)


def test_the_best_step_makes_the_value() -> None:
    graph = graph_of(e2())
    found = at(e2(), graph, values.best_reachable(e2(), graph, 0.5), 0, 1, 3)
    np.testing.assert_allclose(found, [0.25, 0.5, 0.25], atol=1e-12)


def test_the_best_way_leaves_a_loop() -> None:
    # s to t and back, then t to v, then success: V(v) = 0.5, V(t) = 0.25, V(s) = 0.125; z only goes round
    table = paths("s a t b s a t c v d +", "z a z a z a -")
    found = at(table, graph_of(table), values.best_reachable(table, graph_of(table), 0.5), 0, 1, 4, 5)
    np.testing.assert_allclose(found, [0.125, 0.25, 0.5, 0.0], atol=1e-12)


def test_the_best_may_be_a_smaller_reward_that_is_nearer() -> None:
    # at s: 0.5 x 3 at once, or 4 two steps later: 0.25 x 4
    table = steps([("s", 3.0)], [("s", 0.0), ("t", 4.0)])
    found = at(table, graph_of(table), values.best_reachable(table, graph_of(table), 0.5), 0, 2)
    np.testing.assert_allclose(found, [1.5, 2.0], atol=1e-12)


def test_states_with_only_negative_returns_have_a_best_reachable_value_of_0() -> None:
    table = steps([("s", -1.0), ("t", -2.0)])
    np.testing.assert_array_equal(values.best_reachable(table, graph_of(table), 0.5), np.zeros(3))


def test_distances_count_steps_to_a_success() -> None:
    graph = graph_of(e2())
    assert at(e2(), graph, values.distances(graph), 0, 1, 3) == [2, 1, 2]


def test_distances_with_a_loop() -> None:
    table = paths("s a t b s a t c v d +", "z a z a z a -", "y a s e -")
    graph = graph_of(table)
    assert at(table, graph, values.distances(graph), 0, 1, 4, 5, 8) == [3, 2, 1, np.inf, 4]


@pytest.mark.parametrize(("timeout", "expected"), [("failure", [np.inf, 1]), ("open", [2, 1])])
def test_distances_through_a_timeout(timeout: Timeout, expected: list[float]) -> None:
    # only the episode that was cut in u knows a way from s
    table = paths("u c +", "s b u")
    graph = graph_of(table, timeout)
    assert at(table, graph, values.distances(graph), 1, 0) == expected


def test_a_reward_without_success_has_no_distance() -> None:
    table = replace(paths("s a +", "t a +"), success=np.array([True, False]))
    assert at(table, graph_of(table), values.distances(graph_of(table)), 0, 1) == [1, np.inf]
