"""SPO-tree against the worked example: two children with leaves (1, 0) and (0, 0).

V: .5 and 0, root .25. Rows: the leaves' episodes, two rows each; the first rows of a child's two leaves are one step.
"""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, tree

EXAMPLE = (([1, 11], 1.0), ([1, 12], 0.0), ([2, 21], 0.0), ([2, 22], 0.0))


@pytest.mark.parametrize("with_nodes", [True, False])
def test_the_worked_example(with_nodes: bool) -> None:
    # first level .5 - .25 and 0 - .25; second level 1 - .5, 0 - .5, and 0 - 0 twice
    found = advantages(tree(*EXAMPLE, with_nodes=with_nodes), "spo_tree")
    np.testing.assert_allclose(found, [0.25, 0.5, 0.25, -0.5, -0.25, 0, -0.25, 0], atol=1e-12)


def test_the_worked_example_over_the_deviation_of_the_siblings() -> None:
    # ddof 0: siblings .5, 0 deviate by .25; leaves 1, 0 by .5; leaves 0, 0 by 0
    found = advantages(tree(*EXAMPLE), "spo_tree", normalize="std")
    np.testing.assert_allclose(found, [1, 1, 1, -1, -1, 0, -1, 0], atol=1e-6)


def test_epsilon_is_added_to_the_deviation() -> None:
    found = advantages(tree(*EXAMPLE), "spo_tree", normalize="std", epsilon=0.25)
    np.testing.assert_allclose(found[:2], [0.25 / 0.5, 0.5 / 0.75], atol=1e-12)


def test_a_child_counts_once_however_many_leaves_it_has() -> None:
    # V(1) = (1 + 1 + 1) / 3 = 1, V(2) = 0; the root is their mean .5, not the mean .75 of the leaves.
    found = advantages(tree(([1, 11], 1.0), ([1, 12], 1.0), ([1, 13], 1.0), ([2, 21], 0.0)), "spo_tree")
    np.testing.assert_allclose(found, [0.5, 0, 0.5, 0, 0.5, 0, -0.5, 0], atol=1e-12)


def test_values_rise_through_every_level() -> None:
    # V(111) = 1, V(112) = 0, V(11) = .5, V(12) = 0, V(1) = .25, V(2) = 1, root .625
    found = advantages(tree(([1, 11, 111], 1.0), ([1, 11, 112], 0.0), ([1, 12], 0.0), ([2], 1.0)), "spo_tree")
    np.testing.assert_allclose(found, [-0.375, 0.25, 0.5, -0.375, 0.25, -0.5, -0.375, -0.25, 0.375], atol=1e-12)


def test_episodes_that_end_at_the_same_node_form_one_leaf() -> None:
    # leaf 1 is worth (1 + 0) / 2 and leaf 2 nothing: root .25
    found = advantages(tree(([1], 1.0), ([1], 0.0), ([2], 0.0), with_nodes=False), "spo_tree")
    np.testing.assert_allclose(found, [0.25, 0.25, -0.25], atol=1e-12)


@pytest.mark.parametrize(("normalize", "last"), [("none", -0.25), ("std", -0.25 / 0.25)])
def test_an_end_among_continuing_nodes_is_one_more_child(normalize: str, last: float) -> None:
    # Node 1 has the child 11, worth .5, and an end worth 1: V = .75 and the deviation is .25; the root has one child.
    found = advantages(tree(([1], 1.0), ([1, 11], 0.5)), "spo_tree", normalize=normalize)
    np.testing.assert_allclose(found, [0, 0, last], atol=1e-6)


def test_equal_nodes_of_two_tasks_are_two_nodes() -> None:
    # first task: V(1) = 1, V(2) = 0, root .5; second task: root 4
    paths = (([1, 11], 1.0), ([1, 12], 1.0), ([2], 0.0), ([1], 5.0), ([2], 3.0))
    found = advantages(tree(*paths, groups=[0, 0, 0, 1, 1]), "spo_tree")
    np.testing.assert_allclose(found, [0.5, 0, 0.5, 0, -0.5, 1, -1], atol=1e-12)


def test_depth_one_is_dr_grpo() -> None:
    episodes = outcomes(1, 0, 0, 0.5)
    expected = advantages(episodes, "grpo", normalize="none")
    np.testing.assert_allclose(advantages(episodes, "spo_tree"), expected, atol=1e-12)


def test_depth_one_over_the_deviation_is_grpo_with_ddof_0() -> None:
    # mean .25, std (ddof 0) .433013
    found = advantages(outcomes(1, 0, 0, 0), "spo_tree", normalize="std")
    np.testing.assert_allclose(found, [1.732051, -0.577350, -0.577350, -0.577350], atol=1e-6)


@pytest.mark.parametrize("normalize", ["none", "std"])
def test_a_group_of_one_has_no_advantage(normalize: str) -> None:
    np.testing.assert_array_equal(advantages(tree(([1, 11, 111], 1.0)), "spo_tree", normalize=normalize), np.zeros(3))


@pytest.mark.parametrize("normalize", ["none", "std"])
def test_equal_leaves_give_no_advantage(normalize: str) -> None:
    leaves = tree(*((path, 0.1 + 0.2) for path in ([1, 11], [1, 12], [1, 13], [2, 21])))
    np.testing.assert_array_equal(advantages(leaves, "spo_tree", normalize=normalize), np.zeros(8))
