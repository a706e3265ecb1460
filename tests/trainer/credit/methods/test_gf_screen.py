"""GF-Screen against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import A, B, C, outcomes, table


def test_nearly_constant_rewards_are_divided_by_the_floor() -> None:
    # mean 0.8, squares 2 x 0.0001 over 3, std 0.008165 below 0.01
    np.testing.assert_allclose(advantages(outcomes(0.8, 0.8, 0.81, 0.79), "gf_screen"), [0, 0, 1, -1], atol=1e-6)


@pytest.mark.parametrize(("floor", "far", "near"), [(0.01, 1.5, 0.5), (0.49, 1.5, 0.5), (0.51, 1.470588, 0.490196)])
def test_one_success_in_four(floor: float, far: float, near: float) -> None:
    # 0.75 and -0.25 over the greater of 0.5 and the floor
    found = advantages(outcomes(1, 0, 0, 0), "gf_screen", floor=floor)
    np.testing.assert_allclose(found, [far, -near, -near, -near], atol=1e-6)


def test_each_task_is_compared_with_itself() -> None:
    found = advantages(outcomes(1, 0, 0, 0, 1, 1, 0, 1, groups=[0, 0, 0, 0, 1, 1, 1, 1]), "gf_screen")
    np.testing.assert_allclose(found, [1.5, -0.5, -0.5, -0.5, 0.5, 0.5, -1.5, 0.5], atol=1e-12)


@pytest.mark.parametrize(("sign", "expected"), [(1.0, 5.0), (-1.0, -5.0)])
def test_advantages_are_limited_on_both_sides(sign: float, expected: float) -> None:
    # one of thirty: mean 1/30, squares 29/30 over 29, std 1 / sqrt(30): 29 / sqrt(30) = 5.294652 and 0.182574
    found = advantages(outcomes(sign, *[0.0] * 29), "gf_screen")
    np.testing.assert_allclose(found, [expected] + [-sign * 0.182574] * 29, atol=1e-6)


def test_the_limit_is_a_setting() -> None:
    found = advantages(outcomes(1, 0, 0, 0), "gf_screen", limit=0.75)
    np.testing.assert_allclose(found, [0.75, -0.5, -0.5, -0.5], atol=1e-12)


def test_every_step_has_its_episodes_advantage_and_episodes_of_any_length_count_once() -> None:
    # scores 1, 0, 1: mean 2/3, std 0.577350
    found = advantages(table(A, B, C), "gf_screen")
    np.testing.assert_allclose(found, [0.577350] * 3 + [-1.154701] * 3 + [0.577350] * 2, atol=1e-6)


def test_a_group_of_one_has_no_advantage() -> None:
    found = advantages(outcomes(5, 1, 0, groups=[0, 1, 1]), "gf_screen")
    np.testing.assert_allclose(found, [0, 0.707107, -0.707107], atol=1e-6)


@pytest.mark.parametrize("score", [0.0, 1.0, 0.1 + 0.2])
def test_a_group_without_spread_has_no_advantage(score: float) -> None:
    np.testing.assert_array_equal(advantages(outcomes(score, score, score), "gf_screen"), np.zeros(3))
