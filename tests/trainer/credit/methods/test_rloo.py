"""RLOO against numbers worked out by hand, and against Dr. GRPO."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import A, B, C, outcomes, table

TWO_TASKS = outcomes(1, 0, 0, 0, 1, 1, 0, 1, groups=[0, 0, 0, 0, 1, 1, 1, 1])


def test_one_success_in_four() -> None:
    # the success: the others' mean is 0; a failure: the others' mean is 1/3
    np.testing.assert_allclose(advantages(outcomes(1, 0, 0, 0), "rloo"), [1, -1 / 3, -1 / 3, -1 / 3], atol=1e-12)


def test_each_task_is_compared_with_itself() -> None:
    # second task: a success has others of mean 2/3, the failure of mean 1
    found = advantages(TWO_TASKS, "rloo")
    np.testing.assert_allclose(found, [1, -1 / 3, -1 / 3, -1 / 3, 1 / 3, 1 / 3, -1, 1 / 3], atol=1e-12)


@pytest.mark.parametrize("rewards", [(0.2, 0.9), (0.2, 0.9, 0.4), (3.0, -1.0, 0.5, 0.5, 2.0)])
def test_it_is_dr_grpo_times_n_over_n_minus_1(rewards: tuple[float, ...]) -> None:
    n = len(rewards)
    found, dr_grpo = advantages(outcomes(*rewards), "rloo"), advantages(outcomes(*rewards), "dr_grpo")
    np.testing.assert_allclose(found, n / (n - 1) * dr_grpo, atol=1e-12)


def test_every_step_has_its_episodes_advantage_and_episodes_of_any_length_count_once() -> None:
    # scores 1, 0, 1: 1 - 1/2, 0 - 1, 1 - 1/2
    np.testing.assert_allclose(advantages(table(A, B, C), "rloo"), [0.5] * 3 + [-1] * 3 + [0.5] * 2, atol=1e-12)


@pytest.mark.parametrize(("epsilon", "success", "failure"), [(1e-4, 1.619923, 0.539974), (0.382787, 1.0, 1 / 3)])
def test_over_the_batch_it_is_divided_by_the_batchs_deviation(epsilon: float, success: float, failure: float) -> None:
    # squares 1, 3/9, 3/9, 1: sum 8/3 over 7 = 0.380952, std 0.617213; 1 / 0.617313, (1/3) / 0.617313;
    # with the other epsilon the divisor is 1
    found = advantages(TWO_TASKS, "rloo", normalize="batch", epsilon=epsilon)
    np.testing.assert_allclose(found, [success] + [-failure] * 3 + [failure, failure, -success, failure], atol=1e-6)


def test_over_the_batch_the_mean_is_taken_off() -> None:
    # a group of one with its score 1, and 1, -1: mean 1/3, squares 4/9, 4/9, 16/9 over 2 = 4/3, std 1.154701
    episodes = outcomes(1, 1, 0, groups=[0, 1, 1])
    found = advantages(episodes, "rloo", normalize="batch", lone="score")
    np.testing.assert_allclose(found, [0.577300, 0.577300, -1.154600], atol=1e-6)


@pytest.mark.parametrize(("lone", "expected"), [("zero", 0.0), ("score", 3.0)])
def test_a_group_of_one_has_no_advantage_or_its_score(lone: str, expected: float) -> None:
    found = advantages(outcomes(3, 1, 0, groups=[0, 1, 1]), "rloo", lone=lone)
    np.testing.assert_allclose(found, [expected, 1, -1], atol=1e-12)


def test_by_default_a_group_of_one_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(outcomes(3), "rloo"), [0.0])


@pytest.mark.parametrize("normalize", ["none", "batch"])
@pytest.mark.parametrize("score", [0.0, 1.0, 0.1 + 0.2])
def test_a_group_without_spread_has_no_advantage(score: float, normalize: str) -> None:
    np.testing.assert_array_equal(advantages(outcomes(score, score, score), "rloo", normalize=normalize), np.zeros(3))
