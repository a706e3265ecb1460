"""PSHW against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table


def test_a_hard_task_weighs_more() -> None:
    # mean -0.5: 1.256 + 0.128 = 1.384; 1.5 and -0.5 times it
    found = advantages(outcomes(1, -1, -1, -1), "pshw")
    np.testing.assert_allclose(found, [2.076, -0.692, -0.692, -0.692], atol=1e-12)


def test_an_easy_task_weighs_less() -> None:
    # mean 0.5: 1.256 - 0.128 = 1.128; 0.5 and -1.5 times it
    found = advantages(outcomes(1, 1, 1, -1), "pshw")
    np.testing.assert_allclose(found, [0.564, 0.564, 0.564, -1.692], atol=1e-12)


def test_each_task_has_its_own_weight() -> None:
    found = advantages(outcomes(1, -1, -1, -1, 1, 1, 1, -1, groups=[0, 0, 0, 0, 1, 1, 1, 1]), "pshw")
    np.testing.assert_allclose(found, [2.076, -0.692, -0.692, -0.692, 0.564, 0.564, 0.564, -1.692], atol=1e-12)


def test_rewards_of_0_and_1_are_stretched_if_0_is_the_worst() -> None:
    found = advantages(outcomes(1, 0, 0, 0, 1, 1, 1, 0, groups=[0, 0, 0, 0, 1, 1, 1, 1]), "pshw", worst=0.0)
    np.testing.assert_allclose(found, [2.076, -0.692, -0.692, -0.692, 0.564, 0.564, 0.564, -1.692], atol=1e-12)


def test_by_default_rewards_are_taken_as_they_are() -> None:
    # mean 0.25: 1.256 - 0.064 = 1.192; 0.75 and -0.25 times it
    found = advantages(outcomes(1, 0, 0, 0), "pshw")
    np.testing.assert_allclose(found, [0.894, -0.298, -0.298, -0.298], atol=1e-12)


def test_slope_and_offset_are_settings() -> None:
    # mean -0.5: 2 x -0.5 + 3 = 2
    found = advantages(outcomes(1, -1, -1, -1), "pshw", slope=2.0, offset=3.0)
    np.testing.assert_allclose(found, [3, -1, -1, -1], atol=1e-12)


@pytest.mark.parametrize(("rewards", "expected"), [((10, -1), [5.5, -5.5]), ((-10, 0), [-7.56, 7.56])])
def test_beyond_the_range_the_weight_stays_that_of_its_end(rewards: tuple[float, float], expected: list[float]) -> None:
    # mean 4.5: weight 1; mean -5: weight 1.512, times 5
    np.testing.assert_allclose(advantages(outcomes(*rewards), "pshw"), expected, atol=1e-12)


def test_every_step_has_its_episodes_advantage_and_episodes_of_any_length_count_once() -> None:
    # scores 1, -1: mean 0, weight 1.256
    found = advantages(table([("a", 0.25), ("b", 0.75)], [("c", -1.0)]), "pshw")
    np.testing.assert_allclose(found, [1.256, 1.256, -1.256], atol=1e-12)


def test_a_group_of_one_has_no_advantage() -> None:
    found = advantages(outcomes(1, 1, -1, groups=[0, 1, 1]), "pshw")
    np.testing.assert_allclose(found, [0, 1.256, -1.256], atol=1e-12)


@pytest.mark.parametrize("score", [-1.0, 1.0, 0.1 + 0.2])
def test_a_group_without_spread_has_no_advantage(score: float) -> None:
    np.testing.assert_array_equal(advantages(outcomes(score, score, score), "pshw"), np.zeros(3))
