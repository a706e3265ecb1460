"""GPG against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table


def test_one_success_in_four() -> None:
    # 4 episodes, 1 with a reward: 4 x (0.75, -0.25, ...)
    np.testing.assert_allclose(advantages(outcomes(1, 0, 0, 0), "gpg"), [3, -1, -1, -1], atol=1e-12)


def test_the_factor_counts_the_whole_batch() -> None:
    # 8 episodes, 4 with a reward: factor 2
    found = advantages(outcomes(1, 0, 0, 0, 1, 1, 0, 1, groups=[0, 0, 0, 0, 1, 1, 1, 1]), "gpg")
    np.testing.assert_allclose(found, [1.5, -0.5, -0.5, -0.5, 0.5, 0.5, -1.5, 0.5], atol=1e-12)


def test_a_negative_reward_counts_as_one() -> None:
    # 3 episodes, 2 with a reward: 1.5 x (-1, 0, 1)
    np.testing.assert_allclose(advantages(outcomes(-1, 0, 1), "gpg"), [-1.5, 0, 1.5], atol=1e-12)


def test_episodes_are_counted_not_steps_and_by_the_sum_of_their_rewards() -> None:
    # scores 0 and 1: 2 episodes, 1 with a reward: 2 x (-0.5, 0.5)
    found = advantages(table([("a", 1.0), ("b", -1.0)], [("c", 0.0), ("d", 0.0), ("e", 1.0)]), "gpg")
    np.testing.assert_allclose(found, [-1, -1, 1, 1, 1], atol=1e-12)


def test_without_any_reward_all_advantages_are_0() -> None:
    np.testing.assert_array_equal(advantages(outcomes(0, 0, 0), "gpg"), np.zeros(3))


def test_a_group_of_one_has_no_advantage_but_is_counted() -> None:
    # 3 episodes, 2 with a reward: 1.5 x (0, 0.5, -0.5)
    found = advantages(outcomes(5, 1, 0, groups=[0, 1, 1]), "gpg")
    np.testing.assert_allclose(found, [0, 0.75, -0.75], atol=1e-12)


@pytest.mark.parametrize("score", [1.0, 0.1 + 0.2])
def test_a_group_without_spread_has_no_advantage(score: float) -> None:
    np.testing.assert_array_equal(advantages(outcomes(score, score, score), "gpg"), np.zeros(3))
