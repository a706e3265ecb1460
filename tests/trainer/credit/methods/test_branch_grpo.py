"""BranchGRPO against the worked example: leaves .9 .5 under one node, .4 .2 under the other.

Depth 2: mean .5, std (ddof 1) sqrt((.16 + 0 + .01 + .09) / 3) = .294392. Depth 1: rewards .7 and .3, std .282843.
"""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, tree

EXAMPLE = (([1, 11], 0.9), ([1, 12], 0.5), ([2, 21], 0.4), ([2, 22], 0.2))


@pytest.mark.parametrize("with_nodes", [True, False])
def test_the_worked_example(with_nodes: bool) -> None:
    # .4 / .294392, 0, -.1 / .294392, -.3 / .294392; +-.2 / .282843
    found = advantages(tree(*EXAMPLE, with_nodes=with_nodes), "branch_grpo")
    np.testing.assert_allclose(found[1::2], [1.358732, 0, -0.339683, -1.019049], atol=1e-6)
    np.testing.assert_allclose(found[::2], [0.707107, 0.707107, -0.707107, -0.707107], atol=1e-6)


def test_a_node_counts_once_in_its_depth_however_many_leaves_it_has() -> None:
    # depth 1: rewards 1, 0 and 0: mean 1/3, std .577350. Over rows it would be 3/5.
    paths = (([1, 11], 1.0), ([1, 12], 1.0), ([1, 13], 1.0), ([2, 21], 0.0), ([3, 31], 0.0))
    found = advantages(tree(*paths), "branch_grpo")
    np.testing.assert_allclose(found[::2], [1.154701, 1.154701, 1.154701, -0.577350, -0.577350], atol=1e-6)


def test_the_value_of_a_node_is_the_mean_of_all_leaves_under_it() -> None:
    # Node 1 has leaves 1, 0 (under 11) and 0 (12): 1/3, where the mean of its children is .25. Node 2: 0.
    # Depth 1: mean 1/6, std .235702: +-.707107. Depth 2: .5, 0, 0: mean 1/6, std .288675: 1.154701, -.577350.
    found = advantages(tree(([1, 11, 111], 1.0), ([1, 11, 112], 0.0), ([1, 12], 0.0), ([2, 21], 0.0)), "branch_grpo")
    half = [0.707107, 1.154701]
    expected = [*half, 0.707107, *half, -0.707107, 0.707107, -0.577350, -0.707107, -0.577350]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_leaves_of_two_lengths_are_compared_by_depth() -> None:
    # Depth 1: .75 (leaves 1, .5) and 0 (a leaf): +-.707107; depth 2: 1 and .5
    found = advantages(tree(([1, 11], 1.0), ([1, 12], 0.5), ([2], 0.0)), "branch_grpo")
    np.testing.assert_allclose(found, [0.707107, 0.707107, 0.707107, -0.707107, -0.707107], atol=1e-6)


def test_episodes_that_end_at_the_same_node_form_one_leaf() -> None:
    # Node 1 has the leaf 11, reached with 1 and with 0, and the leaf 12 with 0: .25; over episodes it would be 1/3.
    # Node 2 is worth .25 too, so the first depth has no spread; second depth .5, 0, .25: mean .25, std .25.
    paths = (([1, 11], 1.0), ([1, 11], 0.0), ([1, 12], 0.0), ([2, 21], 0.25))
    found = advantages(tree(*paths, with_nodes=False), "branch_grpo")
    np.testing.assert_allclose(found, [0, 1, 0, 1, 0, -1, 0, 0], atol=1e-6)


@pytest.mark.parametrize(("clip", "top"), [(1.0, 1.0), (5.0, 1.358732)])
def test_advantages_are_clipped(clip: float, top: float) -> None:
    found = advantages(tree(*EXAMPLE), "branch_grpo", clip=clip)
    np.testing.assert_allclose([found.max(), found.min()], [top, -min(clip, 1.019049)], atol=1e-6)


def test_epsilon_is_added_to_the_deviation() -> None:
    found = advantages(tree(*EXAMPLE), "branch_grpo", epsilon=1.0)
    np.testing.assert_allclose(found[:2], [0.2 / 1.282843, 0.4 / 1.294392], atol=1e-6)


@pytest.mark.parametrize(("gap", "expected"), [(2e-6, 0.702141), (1e-6, 0.0)])
def test_a_depth_with_hardly_any_spread_has_no_advantage(gap: float, expected: float) -> None:
    # std = gap / sqrt(2): 1.414214e-6 is enough, and 1e-6 / (1.414214e-6 + 1e-8) = .702141; 0.707e-6 is not.
    found = advantages(outcomes(gap, 0.0), "branch_grpo")
    np.testing.assert_allclose(found, [expected, -expected], atol=1e-6)


def test_equal_nodes_of_two_trees_are_two_nodes() -> None:
    paths = (([1], 1.0), ([2], 0.0), ([1], 5.0), ([2], 3.0))
    found = advantages(tree(*paths, groups=[0, 0, 1, 1]), "branch_grpo")
    np.testing.assert_allclose(found, [0.707107, -0.707107, 0.707107, -0.707107], atol=1e-6)


def test_depth_one_is_grpo() -> None:
    episodes = outcomes(1, 0, 0, 0.5)
    expected = advantages(episodes, "grpo", epsilon=1e-8)
    np.testing.assert_allclose(advantages(episodes, "branch_grpo"), expected, atol=1e-12)


def test_a_group_of_one_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(tree(([1, 11], 1.0)), "branch_grpo"), np.zeros(2))


def test_equal_leaves_give_no_advantage() -> None:
    leaves = tree(*((path, 0.1 + 0.2) for path in ([1, 11], [1, 12], [1, 13], [2, 21])))
    np.testing.assert_array_equal(advantages(leaves, "branch_grpo"), np.zeros(8))
