"""GRPO against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.core.errors import ConfigError
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import A, B, C, outcomes, table


def test_one_success_in_four() -> None:
    # mean 0.25, std (ddof 1) 0.5: 0.75 / 0.500001 and -0.25 / 0.500001
    found = advantages(outcomes(1, 0, 0, 0), "grpo")
    np.testing.assert_allclose(found, [1.499997, -0.499999, -0.499999, -0.499999], atol=5e-7)


def test_epsilon_is_added_to_the_deviation() -> None:
    # 0.75 / 0.5001 and -0.25 / 0.5001
    found = advantages(outcomes(1, 0, 0, 0), "grpo", epsilon=1e-4)
    np.testing.assert_allclose(found, [1.4997, -0.4999, -0.4999, -0.4999], atol=5e-5)


def test_without_the_division_it_is_dr_grpo() -> None:
    found = advantages(outcomes(1, 0, 0, 0), "grpo", normalize="none")
    np.testing.assert_allclose(found, [0.75, -0.25, -0.25, -0.25], atol=1e-12)


def test_each_task_is_compared_with_itself() -> None:
    # second task: mean 0.75, std 0.5
    found = advantages(outcomes(1, 1, 0, 1, 0, 0, 1, 0, groups=[0, 1, 0, 1, 0, 1, 1, 0]), "grpo")
    first, second = [1.499997, -0.499999, -0.499999, -0.499999], [0.499999, 0.499999, -1.499997, 0.499999]
    np.testing.assert_allclose(found[[0, 2, 4, 7]], first, atol=5e-7)
    np.testing.assert_allclose(found[[1, 3, 5, 6]], second, atol=5e-7)


def test_every_step_has_its_episodes_advantage_and_episodes_of_any_length_count_once() -> None:
    # scores 1, 0, 1: mean 2/3, for every number of steps
    found = advantages(table(A, B, C), "grpo", normalize="none")
    np.testing.assert_allclose(found, [1 / 3] * 3 + [-2 / 3] * 3 + [1 / 3] * 2, atol=1e-12)


def test_rewards_of_several_steps_add_up() -> None:
    # scores 0.75 and 0.25: mean 0.5
    found = advantages(table([("a", 0.5), ("b", 0.25)], [("c", 0.25)]), "grpo", normalize="none")
    np.testing.assert_allclose(found, [0.25, 0.25, -0.25], atol=1e-12)


def test_a_group_of_one_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(outcomes(1, 1, 0, groups=[0, 1, 1]), "grpo")[0], 0.0)


@pytest.mark.parametrize("score", [0.0, 1.0, 0.1 + 0.2])
def test_a_group_without_spread_has_no_advantage(score: float) -> None:
    np.testing.assert_array_equal(advantages(outcomes(score, score, score), "grpo"), np.zeros(3))


def test_a_setting_that_it_does_not_have_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'normalise'; did you mean 'normalize'\?"):
        advantages(outcomes(1, 0), "grpo", normalise="std")
