"""State keys: which steps each of them makes one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import Keys, StepTable
from cairn.trainer.credit.kernel import keys
from tests.trainer.credit.golden import paths

# Rows of the three episodes: 0 1 2 | 3 4 5 | 6 7.
TABLE = paths("s a u b v c +", "s a u b v d -", "u b v c +")


def classes(of: Keys) -> list[int]:
    """Return which rows have equal keys: each row gets the number of the first row that is like it."""
    return [int(np.flatnonzero(of == key)[0]) for key in of]


def test_anchor_is_the_state_before_the_step() -> None:
    np.testing.assert_array_equal(keys.anchor(TABLE), TABLE.anchor)
    assert classes(keys.anchor(TABLE)) == [0, 1, 2, 0, 1, 2, 1, 2]


def test_prompt_is_the_same_everywhere() -> None:
    assert classes(keys.prompt(TABLE)) == [0] * 8


def test_turn_is_the_number_of_the_turn() -> None:
    np.testing.assert_array_equal(keys.turn(TABLE), [0, 1, 2, 0, 1, 2, 0, 1])


def test_role_is_the_tables_or_one_for_all() -> None:
    assert classes(keys.role(TABLE)) == [0] * 8
    role = np.array([5, 7, 5, 7, 5, 7, 5, 7], np.uint64)
    np.testing.assert_array_equal(keys.role(replace(TABLE, role=role)), role)


def test_edge_is_state_action_and_next_state() -> None:
    # s a u; u b v; v c success; v d failure
    assert classes(keys.edge(TABLE)) == [0, 1, 2, 0, 1, 5, 1, 2]
    # the same state and action, two next states
    assert classes(keys.edge(paths("s a u c +", "s a v c +"))) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (0, [0] * 8),
        (1, [0, 1, 2, 0, 1, 2, 1, 2]),
        (2, [0, 1, 2, 0, 1, 2, 6, 2]),  # row 6 is in u with nothing before it
        (3, [0, 1, 2, 0, 1, 2, 6, 7]),  # row 7 is in v, after u, with nothing before that
    ],
)
def test_observations_are_the_last_states(depth: int, expected: list[int]) -> None:
    assert classes(keys.observations(TABLE, depth)) == expected


def test_observations_are_in_order() -> None:
    # p q and q p, both before r
    found = keys.observations(paths("p a q a r a +", "q a p a r a +"), 3)
    assert found[2] != found[5]
    assert classes(keys.observations(paths("p a p a p a p a +"), 2)) == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (0, [0] * 8),
        # before the step: nothing; a to u; b to v; ...
        (1, [0, 1, 2, 0, 1, 2, 0, 2]),
        # row 7 has b to v before it, and nothing before that
        (2, [0, 1, 2, 0, 1, 2, 0, 7]),
    ],
)
def test_history_is_the_last_actions_and_the_states_that_they_led_to(depth: int, expected: list[int]) -> None:
    assert classes(keys.history(TABLE, depth)) == expected


def test_history_contains_the_action_that_led_to_a_state() -> None:
    found = keys.history(paths("s a u c +", "s b u c +"), 1)
    assert classes(found) == [0, 1, 0, 3]


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        # a to u after nothing; b to v after (a to u); c or d after (b to v). Row 6: b to v after nothing.
        (1, [0, 1, 2, 0, 1, 5, 6, 2]),
        (2, [0, 1, 2, 0, 1, 5, 6, 7]),
    ],
)
def test_a_history_edge_is_history_and_step(depth: int, expected: list[int]) -> None:
    assert classes(keys.history_edge(TABLE, depth)) == expected


def test_tree_nodes_are_equal_where_all_is_equal_since_the_root() -> None:
    assert classes(keys.tree_node(TABLE)) == [0, 1, 2, 0, 1, 5, 6, 7]
    # the same actions from another first state
    assert classes(keys.tree_node(paths("s a u b +", "t a u b +"))) == [0, 1, 2, 3]


def test_tree_nodes_are_the_tables_where_it_has_them() -> None:
    table = with_nodes([1, 2, 3, 1, 2, 4, 5, 6])
    np.testing.assert_array_equal(keys.tree_node(table), [1, 2, 3, 1, 2, 4, 5, 6])


def test_a_parent_is_the_node_before_and_one_root_for_all() -> None:
    parent = keys.tree_parent(with_nodes([1, 2, 3, 1, 2, 4, 5, 6]))
    np.testing.assert_array_equal(parent[[1, 2, 4, 5, 7]], [1, 2, 1, 2, 5])
    assert classes(parent) == [0, 1, 2, 0, 1, 2, 0, 7]
    assert classes(keys.tree_parent(TABLE)) == [0, 1, 2, 0, 1, 2, 0, 7]


def test_depth_counts_from_the_root() -> None:
    np.testing.assert_array_equal(keys.tree_depth(TABLE), [1, 2, 3, 1, 2, 3, 1, 2])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("anchor", keys.anchor(TABLE)),
        ("prompt", keys.prompt(TABLE)),
        ("turn", keys.turn(TABLE)),
        ("role", keys.role(TABLE)),
        ("edge", keys.edge(TABLE)),
        ("tree_node", keys.tree_node(TABLE)),
        ("tree_parent", keys.tree_parent(TABLE)),
        ("tree_depth", keys.tree_depth(TABLE)),
        ("observations(2)", keys.observations(TABLE, 2)),
        ("history(3)", keys.history(TABLE, 3)),
    ],
)
def test_every_key_has_a_name(name: str, expected: Keys) -> None:
    np.testing.assert_array_equal(keys.named(TABLE, name), expected)


@pytest.mark.parametrize(
    "name", ["anchors", "", "observations", "observations()", "history(-1)", "history(2", "turn(1)"]
)
def test_an_unknown_name_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(CairnError, match=r"Unknown state key .*anchor, prompt.*observations\(k\)"):
        keys.named(TABLE, name)


def with_nodes(nodes: list[int]) -> StepTable:
    return replace(TABLE, node=np.array(nodes, np.uint64))
