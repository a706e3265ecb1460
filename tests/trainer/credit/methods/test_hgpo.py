"""HGPO against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from cairn.trainer.credit.kernel.returns import returns
from cairn.trainer.credit.kernel.segments import centered, segments
from tests.trainer.credit.columns import A, B, C, outcomes, table
from tests.trainer.credit.golden import e2, e2_rows, paths

# Four episodes meet in s at their second turn, with returns 1, 0, 0; two of them come from x.
MEETING = paths("x a s c +", "x b s d -", "y a s e -")
# k = 1: mean 1/3, std (ddof 0) 0.471405: 1.414211 and -0.707105. k = 2, the two from x: mean 0.5, std 0.5: 0.999998
# and -0.999998. In x itself the returns are 0.95 and 0: the same again. The third episode has no peer but in s.
ONE, TWO = [1.414211, -0.707105, -0.707105], [0.999998, -0.999998]


def test_the_golden_table() -> None:
    # s0: returns 0.95, 0, 0.95: mean 0.633333, std (ddof 0) 0.447834. u: 1, 0, 1: the same z. w: 0, 0.
    # Of episodes 1 and 3 the last two states at u are equal, so are their returns: k = 2 gives 0 and does not count.
    expected = e2_rows(0.707105, 0.707105, -1.414210, 0, 0, -1.414210)
    np.testing.assert_allclose(advantages(e2(), "hgpo"), expected, atol=1e-5)


def test_a_longer_history_weighs_more() -> None:
    # (2 x 1.414211 + 3 x 0.999998) / 5 and (2 x -0.707105 - 3 x 0.999998) / 5
    expected = [TWO[0], 1.165683, TWO[1], -0.882841, 0, ONE[2]]
    np.testing.assert_allclose(advantages(MEETING, "hgpo"), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("alpha", "first"),
    [(0.0, 1.207105), (2.0, 1.127448)],  # (1.414211 + 0.999998) / 2; (4 x 1.414211 + 9 x 0.999998) / 13
)
def test_alpha_is_the_power_of_the_weights(alpha: float, first: float) -> None:
    assert advantages(MEETING, "hgpo", alpha=alpha)[1] == pytest.approx(first, abs=1e-5)


def test_history_is_the_greatest_length_that_counts() -> None:
    expected = [TWO[0], ONE[0], TWO[1], ONE[1], 0, ONE[2]]
    np.testing.assert_allclose(advantages(MEETING, "hgpo", history=0), expected, atol=1e-5)
    np.testing.assert_allclose(advantages(MEETING, "hgpo", history=1), advantages(MEETING, "hgpo"), atol=1e-12)


def test_without_history_it_is_the_step_term_of_gigpo_with_ddof_0() -> None:
    for episodes in (e2(), MEETING, table(A, B, C)):
        state = segments(episodes.group, episodes.anchor)
        expected = centered(returns(episodes, episodes.reward, 0.95), state, scale="std", ddof=0)
        np.testing.assert_allclose(advantages(episodes, "hgpo", history=0), expected, atol=1e-12)


def test_a_history_longer_than_the_episode_does_not_count() -> None:
    # In s: returns 1, 0, 1: mean 2/3, std 0.471405. The first two are at turn 0: for them only k = 1 counts, though
    # they would be a group of two, with z 1 and -1, if the states before an episode's beginning were equal states.
    found = advantages(paths("s c +", "s d -", "x b s e +"), "hgpo")
    np.testing.assert_allclose(found, [0.707105, -1.414210, 0, 0.707105], atol=1e-5)


def test_comparisons_equal_to_zero_count_when_averaging_over_groups() -> None:
    # Rows 1.1 and 3.1: (2 x 0.707105 + 3 x 0) / 5
    expected = e2_rows(0.707105, 0.282842, -1.414210, 0, 0, -1.414210)
    np.testing.assert_allclose(advantages(e2(), "hgpo", average_over="groups"), expected, atol=1e-5)


def test_rounding_does_not_choose_the_weights() -> None:
    # 0.1 + 0.2 and 0.3 differ by 6e-17: k = 2, which compares just these two, does not count; k = 1: 0.3, 0.3, 0
    episodes = table([("x", 0.0), ("s", 0.1), ("t", 0.2)], [("x", 0.0), ("s", 0.3)], [("y", 0.0), ("s", 0.0)])
    found = advantages(episodes, "hgpo", gamma=1.0)
    np.testing.assert_allclose(found[[1, 4, 6]], [0.707102, 0.707102, -1.414204], atol=1e-5)


def test_the_comparison_of_episodes_can_be_added() -> None:
    # GRPO on scores 1, 0, 1: 0.577349 and -1.154699, weight 1. Row 1.0: (0.577349 + 2 x 0.707105) / 3 = 0.663853;
    # row 2.0: (-1.154699 - 2 x 1.414210) / 3 = -1.327706; at w nothing else counts.
    expected = e2_rows(0.663853, 0.663853, -1.327706, -1.154699, -1.154699, -1.327706)
    np.testing.assert_allclose(advantages(e2(), "hgpo", base_group=True), expected, atol=1e-5)


def test_averaging_over_groups_includes_the_comparison_of_episodes() -> None:
    # Row 1.1: (0.577349 + 2 x 0.707105 + 3 x 0) / 6; rows of w: (-1.154699 + 2 x 0) / 3
    found = advantages(e2(), "hgpo", base_group=True, average_over="groups")
    np.testing.assert_allclose(found[[1, 3, 4]], [0.331927, -0.384900, -0.384900], atol=1e-5)


def test_returns_are_discounted() -> None:
    # gamma 0.5: returns 0.25, 0.5, 1; mean 0.583333, std 0.311805
    found = advantages(table([("s", 0.0), ("s", 0.0), ("s", 1.0)]), "hgpo", gamma=0.5, history=0)
    np.testing.assert_allclose(found, [-1.069041, -0.267260, 1.336302], atol=1e-5)


def test_epsilon_is_added_to_the_deviation() -> None:
    # returns 1, 0: 0.5 / (0.5 + 0.5)
    found = advantages(table([("s", 1.0)], [("s", 0.0)]), "hgpo", epsilon=0.5)
    np.testing.assert_allclose(found, [0.5, -0.5], atol=1e-12)


def test_steps_without_peers_or_without_spread_have_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(outcomes(1, 0, 0), "hgpo"), np.zeros(3))
    np.testing.assert_array_equal(advantages(table(A, A, A), "hgpo", base_group=True), np.zeros(9))


def test_a_group_of_one_has_no_comparison_of_episodes() -> None:
    found = advantages(table([("s", 1.0)]), "hgpo", base_group=True, average_over="groups")
    np.testing.assert_array_equal(found, np.zeros(1))


def test_equal_states_of_two_tasks_are_not_compared() -> None:
    found = advantages(table([("s", 1.0)], [("s", 0.0)], [("s", 5.0)], [("s", 4.0)], groups=[0, 0, 1, 1]), "hgpo")
    np.testing.assert_allclose(found, [1, -1, 1, -1], atol=1e-5)
