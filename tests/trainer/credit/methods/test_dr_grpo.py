"""Dr. GRPO against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import A, B, C, outcomes, table


def test_one_success_in_four() -> None:
    # mean 0.25
    np.testing.assert_allclose(advantages(outcomes(1, 0, 0, 0), "dr_grpo"), [0.75, -0.25, -0.25, -0.25], atol=1e-12)


def test_each_task_is_compared_with_itself() -> None:
    # means 0.25 and 0.75
    found = advantages(outcomes(1, 0, 0, 0, 1, 1, 0, 1, groups=[0, 0, 0, 0, 1, 1, 1, 1]), "dr_grpo")
    np.testing.assert_allclose(found, [0.75, -0.25, -0.25, -0.25, 0.25, 0.25, -0.75, 0.25], atol=1e-12)


def test_every_step_has_its_episodes_advantage_and_episodes_of_any_length_count_once() -> None:
    # scores 1, 0, 1: mean 2/3
    np.testing.assert_allclose(advantages(table(A, B, C), "dr_grpo"), [1 / 3] * 3 + [-2 / 3] * 3 + [1 / 3] * 2)


def test_rewards_of_several_steps_add_up() -> None:
    # scores 0.75 and 0.25: mean 0.5
    found = advantages(table([("a", 0.5), ("b", 0.25)], [("c", 0.25)]), "dr_grpo")
    np.testing.assert_allclose(found, [0.25, 0.25, -0.25], atol=1e-12)


def test_it_is_grpo_without_the_division() -> None:
    episodes = outcomes(0.3, -1.2, 7.0, 0.1, 0.4, groups=[0, 0, 0, 1, 1])
    np.testing.assert_array_equal(advantages(episodes, "dr_grpo"), advantages(episodes, "grpo", normalize="none"))


def test_a_group_of_one_has_no_advantage() -> None:
    np.testing.assert_allclose(advantages(outcomes(1, 1, 0, groups=[0, 1, 1]), "dr_grpo"), [0, 0.5, -0.5], atol=1e-12)


@pytest.mark.parametrize("score", [0.0, 1.0, 0.1 + 0.2])
def test_a_group_without_spread_has_no_advantage(score: float) -> None:
    np.testing.assert_array_equal(advantages(outcomes(score, score, score), "dr_grpo"), np.zeros(3))
