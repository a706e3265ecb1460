"""MC-GRPO against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cairn.trainer.credit import CheckedEstimator, advantages
from tests.trainer.credit.columns import outcomes, table


def test_five_different_rewards() -> None:
    # median 0.5; distances 0.4 0.1 0 0.4 0.2, median 0.2; over 0.201, times 5 / 4; the median episode has none
    found = advantages(outcomes(0.1, 0.4, 0.5, 0.9, 0.7), "mc_grpo")
    np.testing.assert_allclose(found, [-2.487562, -0.621891, 0, 2.487562, 1.243781], atol=1e-6)
    assert found[2] == 0


def test_epsilon_is_added_to_the_median_distance() -> None:
    # over 0.2 + 0.3 = 0.5, times 5 / 4
    found = advantages(outcomes(0.1, 0.4, 0.5, 0.9, 0.7), "mc_grpo", epsilon=0.3)
    np.testing.assert_allclose(found, [-1, -0.25, 0, 1, 0.5], atol=1e-12)


def test_of_an_even_number_the_lower_median_is_taken() -> None:
    # median 0.4; distances -0.3 0 0.1 0.5, lower median of their sizes 0.1; over 0.101, times 4 / 3
    found = advantages(outcomes(0.1, 0.4, 0.5, 0.9), "mc_grpo")
    np.testing.assert_allclose(found, [-3.960396, 0, 1.320132, 6.600660], atol=1e-6)


@pytest.mark.parametrize(("guard", "success"), [(0.05, 2.5), (0.0, 2500.0)])
def test_a_clear_majority_is_not_divided_by_nothing_unless_the_guard_is_off(guard: float, success: float) -> None:
    # median 0, distances 1 0 0 1 0, median 0: 1 or 1 / 0.001, times 5 / 2
    found = advantages(outcomes(1, 0, 0, 1, 0), "mc_grpo", guard=guard)
    np.testing.assert_allclose(found, [success, 0, 0, success, 0], rtol=1e-12)


@pytest.mark.parametrize(
    ("guard", "expected"),
    [(0.6, [-0.5, -0.125, 0, 0.5, 0.25]), (0.4, [-2.487562, -0.621891, 0, 2.487562, 1.243781])],
)
def test_the_guard_is_a_share_of_the_largest_distance(guard: float, expected: list[float]) -> None:
    # median distance 0.2, the largest 0.4: a share of 0.5. Below the guard the divisor is 1:
    # -0.4 -0.1 0 0.4 0.2, times 5 / 4
    found = advantages(outcomes(0.1, 0.4, 0.5, 0.9, 0.7), "mc_grpo", guard=guard)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_tiny_median_distance_is_not_divided_by() -> None:
    # median 0.0002, distances -0.0002 -0.0001 0 0.0001 0.9998, median 0.0001, less than 0.05 times 0.9998: times 5 / 4.
    # Over 0.0001 + 0.001 the last one would be 1136.
    found = advantages(outcomes(0, 1e-4, 2e-4, 3e-4, 1), "mc_grpo")
    np.testing.assert_allclose(found, [-2.5e-4, -1.25e-4, 0, 1.25e-4, 1.24975], atol=1e-12)


def test_one_success_in_four() -> None:
    # median 0, guarded: 1 times 4 / 1
    np.testing.assert_allclose(advantages(outcomes(1, 0, 0, 0), "mc_grpo"), [4, 0, 0, 0], atol=1e-12)


def test_each_task_is_compared_with_itself() -> None:
    # second task: median 1, guarded: -1 times 4 / 1
    found = advantages(outcomes(1, 0, 0, 0, 1, 1, 0, 1, groups=[0, 0, 0, 0, 1, 1, 1, 1]), "mc_grpo")
    np.testing.assert_allclose(found, [4, 0, 0, 0, 0, 0, -4, 0], atol=1e-12)


def test_tiny_advantages_are_set_to_0() -> None:
    # median 0, guarded: 5e-7 is taken for 0, so 1 is the only advantage of five
    np.testing.assert_array_equal(advantages(outcomes(0, 0, 0, 5e-7, 1), "mc_grpo"), [0, 0, 0, 0, 5])


def test_every_step_has_its_episodes_advantage_and_episodes_of_any_length_count_once() -> None:
    # scores 1, 0, 2: median 1, distances 0 -1 1, median 1; over 1.001, times 3 / 2
    found = advantages(table([("a", 0.5), ("b", 0.5)], [("c", 0.0), ("d", 0.0), ("e", 0.0)], [("f", 2.0)]), "mc_grpo")
    np.testing.assert_allclose(found, [0, 0, -1.498501, -1.498501, -1.498501, 1.498501], atol=1e-6)


def test_the_median_episode_of_each_group_is_not_learned_from() -> None:
    # scores 1, 0, 2 (median: the first episode, two steps), and 7, 3, 9, 5 of another task (lower median 5)
    first = [[("a", 0.5), ("b", 0.5)], [("c", 0.0), ("d", 0.0), ("e", 0.0)], [("f", 2.0)]]
    second = [[("g", 7.0)], [("h", 3.0)], [("i", 9.0)], [("j", 5.0)]]
    found = CheckedEstimator("mc_grpo", {}).learned(table(*first, *second, groups=[0] * 3 + [1] * 4))
    assert found.tolist() == [False, False, True, True, True, True, True, True, True, False]


def test_one_of_equal_median_episodes_is_not_learned_from() -> None:
    # 1 0 0 1 0: the lower median is the third of the sorted scores 0 0 0 1 1, the last episode
    assert CheckedEstimator("mc_grpo", {}).learned(outcomes(1, 0, 0, 1, 0)).tolist() == [True, True, True, True, False]


def test_a_group_of_one_is_kept_and_masked_steps_are_not_learned_from_with_any_method() -> None:
    assert CheckedEstimator("mc_grpo", {}).learned(outcomes(5, 1, 0, groups=[0, 1, 1])).tolist() == [True, True, False]
    masked = replace(outcomes(2, 1, 0), trained=np.array([True, True, False]))
    assert CheckedEstimator("mc_grpo", {}).learned(masked).tolist() == [True, False, False]
    assert CheckedEstimator("grpo", {}).learned(masked).tolist() == [True, True, False]


def test_a_group_of_one_has_no_advantage() -> None:
    np.testing.assert_allclose(advantages(outcomes(5, 1, 0, groups=[0, 1, 1]), "mc_grpo"), [0, 2, 0], atol=1e-12)


@pytest.mark.parametrize("guard", [0.0, 1e-6])
@pytest.mark.parametrize("score", [0.0, 1.0, 0.1 + 0.2])
def test_a_group_without_spread_has_no_advantage(score: float, guard: float) -> None:
    np.testing.assert_array_equal(advantages(outcomes(score, score, score), "mc_grpo", guard=guard), np.zeros(3))
