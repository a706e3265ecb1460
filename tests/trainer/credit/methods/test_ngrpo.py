"""NGRPO against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table


def test_a_group_that_only_failed_is_pushed_away() -> None:
    # 0 0 0 0 and 1: mean 0.2, squares 4 x 0.04 + 0.64 = 0.8 over 4, std 0.447214
    np.testing.assert_allclose(advantages(outcomes(0, 0, 0, 0), "ngrpo"), [-0.447213] * 4, atol=1e-6)


def test_one_success_in_four() -> None:
    # 1 0 0 0 and 1: mean 0.4, squares 2 x 0.36 + 3 x 0.16 = 1.2 over 4, std 0.547723
    found = advantages(outcomes(1, 0, 0, 0), "ngrpo")
    np.testing.assert_allclose(found, [1.095443, -0.730295, -0.730295, -0.730295], atol=1e-6)


def test_each_task_is_compared_with_itself() -> None:
    # second task, 1 1 0 1 and 1: mean 0.8, squares 4 x 0.04 + 0.64 = 0.8 over 4, std 0.447214
    found = advantages(outcomes(1, 0, 0, 0, 1, 1, 0, 1, groups=[0, 0, 0, 0, 1, 1, 1, 1]), "ngrpo")
    first, second = [1.095443, -0.730295, -0.730295, -0.730295], [0.447213, 0.447213, -1.788850, 0.447213]
    np.testing.assert_allclose(found, first + second, atol=1e-6)


def test_a_group_that_is_perfect_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(outcomes(1, 1, 1), "ngrpo"), np.zeros(3))


def test_the_best_score_is_a_setting() -> None:
    # 1 1 and 2: mean 4/3, squares 1/9 + 1/9 + 4/9 over 2 = 1/3, std 0.577350
    np.testing.assert_allclose(advantages(outcomes(1, 1), "ngrpo", best=2.0), [-0.577349, -0.577349], atol=1e-6)


def test_epsilon_is_added_to_the_deviation() -> None:
    # 0.6 and -0.4 over 0.547723 + 0.452277 = 1
    found = advantages(outcomes(1, 0, 0, 0), "ngrpo", epsilon=0.452277)
    np.testing.assert_allclose(found, [0.6, -0.4, -0.4, -0.4], atol=1e-6)


def test_every_step_has_its_episodes_advantage_and_episodes_of_any_length_count_once() -> None:
    # scores 1 and 0, and 1: mean 2/3, squares 1/9 + 4/9 + 1/9 over 2 = 1/3, std 0.577350
    found = advantages(table([("a", 0.25), ("b", 0.75)], [("c", 0.0)]), "ngrpo")
    np.testing.assert_allclose(found, [0.577349, 0.577349, -1.154699], atol=1e-6)


@pytest.mark.parametrize("score", [0.0, 1.0, 7.0])
def test_a_group_of_one_has_the_advantage_0_for_every_score(score: float) -> None:
    np.testing.assert_array_equal(advantages(outcomes(score), "ngrpo"), [0.0])
