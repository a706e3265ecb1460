"""REINFORCE++ against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table


def sized(episodes: StepTable, lengths: Sequence[int]) -> StepTable:
    return replace(episodes, length=np.array(lengths, np.float64))


def test_tokens_are_centred_and_scaled_over_the_batch() -> None:
    # tokens 1 1 | 0 0 0: mean 0.4, var (2 x 0.36 + 3 x 0.16) / 4 = 0.3; 0.6 / sqrt(0.3), -0.4 / sqrt(0.3)
    found = advantages(sized(outcomes(1, 0), [2, 3]), "reinforce_pp")
    np.testing.assert_allclose(found, [1.095445, -0.730297], atol=1e-6)


def test_groups_play_no_part() -> None:
    found = advantages(sized(outcomes(1, 0, groups=[0, 1]), [2, 3]), "reinforce_pp")
    np.testing.assert_allclose(found, [1.095445, -0.730297], atol=1e-6)


def test_epsilon_is_added_to_the_variance() -> None:
    # sqrt(0.3 + 0.7) = 1
    found = advantages(sized(outcomes(1, 0), [2, 3]), "reinforce_pp", epsilon=0.7)
    np.testing.assert_allclose(found, [0.6, -0.4], atol=1e-12)


def test_a_step_is_credited_only_with_later_rewards() -> None:
    # returns 1, 0 with one token each: mean 0.5, var 0.5; 0.5 / 0.707107
    found = advantages(sized(table([("a", 1.0), ("b", 0.0)]), [1, 1]), "reinforce_pp")
    np.testing.assert_allclose(found, [0.707107, -0.707107], atol=1e-6)


def test_by_default_rewards_are_not_discounted() -> None:
    found = advantages(sized(table([("a", 0.0), ("b", 1.0)], [("c", 0.0)]), [1, 1, 3]), "reinforce_pp")
    np.testing.assert_allclose(found, [1.095445, 1.095445, -0.730297], atol=1e-6)


def test_gamma_discounts_per_step_and_not_per_token() -> None:
    # returns 0.5 (1 token), 1 (3 tokens): mean 0.875, var (0.140625 + 3 x 0.015625) / 3 = 0.0625, root 0.25
    found = advantages(sized(table([("a", 0.0), ("b", 1.0)]), [1, 3]), "reinforce_pp", gamma=0.5)
    np.testing.assert_allclose(found, [-1.5, 0.5], atol=1e-6)


def test_a_step_without_tokens_does_not_count_and_has_no_advantage() -> None:
    # mean 0.4 and var 0.3 as without it
    found = advantages(sized(outcomes(1, 0, 100), [2, 3, 0]), "reinforce_pp")
    np.testing.assert_allclose(found, [1.095445, -0.730297, 0], atol=2e-5)


@pytest.mark.parametrize("method", ["reinforce_pp", "reinforce_pp_baseline"])
def test_a_step_without_tokens_is_not_divided_by_the_spread_of_others(method: str) -> None:
    # the steps with tokens are equal, so that the variance is 0: 1 / sqrt(1e-8) would be 10,000
    np.testing.assert_array_equal(advantages(sized(outcomes(0, 0, 1), [2, 3, 0]), method), [0, 0, 0])


@pytest.mark.parametrize("lengths", [[0, 0], [1, 0], [0, 1]])
def test_fewer_than_two_tokens_give_no_advantage(lengths: list[int]) -> None:
    np.testing.assert_array_equal(advantages(sized(outcomes(1, 0), lengths), "reinforce_pp"), [0, 0])


def test_two_tokens_are_enough() -> None:
    # mean 0.5, var 0.5
    found = advantages(sized(outcomes(1, 0), [1, 1]), "reinforce_pp")
    np.testing.assert_allclose(found, [0.707107, -0.707107], atol=1e-6)


def test_equal_returns_give_no_advantage() -> None:
    found = advantages(sized(outcomes(0.3, 0.3, 0.3), [1, 5, 2]), "reinforce_pp")
    np.testing.assert_array_equal(found, np.zeros(3))


def test_without_lengths_it_is_refused() -> None:
    with pytest.raises(CairnError, match="'reinforce_pp' needs length"):
        advantages(outcomes(1, 0), "reinforce_pp")
