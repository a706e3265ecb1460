"""R3L against the worked example: scores 1, 0, 0, .5."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table


def test_the_worked_example() -> None:
    # mean .375: .625, -.375, -.375, .125; the full score becomes 1, the other positive 3 x .125
    np.testing.assert_allclose(advantages(outcomes(1, 0, 0, 0.5), "r3l"), [1, -0.375, -0.375, 0.375], atol=1e-12)


def test_without_a_full_score_all_positives_are_amplified() -> None:
    found = advantages(outcomes(1, 0, 0, 0.5), "r3l", full_score=None)
    np.testing.assert_allclose(found, [1.875, -0.375, -0.375, 0.375], atol=1e-12)


@pytest.mark.parametrize(("full_score", "best"), [(0.5, 1.0), (0.51, 0.5)])
def test_the_full_score_is_a_setting(full_score: float, best: float) -> None:
    # mean .25: .25 x 2, unless it is full
    found = advantages(outcomes(0.5, 0), "r3l", full_score=full_score, amplify=2.0)
    np.testing.assert_allclose(found, [best, -0.25], atol=1e-12)


@pytest.mark.parametrize(("tau", "baseline"), [(1.0, 0.620115), (0.5, 0.716890)])
def test_soft_baseline(tau: float, baseline: float) -> None:
    # tau 1: log((e + 1) / 2) = .620115; tau .5: .5 log((e^2 + 1) / 2) = .716890
    found = advantages(outcomes(1, 0), "r3l", baseline="soft", tau=tau, full_score=None, amplify=1.0)
    np.testing.assert_allclose(found, [1 - baseline, -baseline], atol=1e-6)


def test_the_soft_baseline_of_large_scores_is_finite() -> None:
    # 1000 + log((1 + e^-1000) / 2) = 1000 - .693147
    found = advantages(outcomes(1000, 0), "r3l", baseline="soft", full_score=None, amplify=1.0)
    np.testing.assert_allclose(found, [0.693147, -999.306853], atol=1e-6)


def test_steps_before_the_pivot_are_masked_and_change_nothing_else() -> None:
    # scores .5 and 0: 3 x .25 and -.25; each episode's first step came before the pivot
    episodes = StepTable.from_columns(
        group=[0] * 4, episode=[0, 0, 1, 1], turn=[0, 1, 0, 1], anchor=range(4), action=range(4),
        reward=[0.25, 0.25, 0, 0], trained=[False, True, False, True],
    )  # fmt: skip
    np.testing.assert_allclose(advantages(episodes, "r3l"), [0, 0.75, 0, -0.25], atol=1e-12)


def test_episodes_of_any_length_count_once() -> None:
    found = advantages(table([("a", 0.0), ("b", 0.0), ("c", 0.5)], [("a", 0.0)]), "r3l")
    np.testing.assert_allclose(found, [0.75, 0.75, 0.75, -0.25], atol=1e-12)


def test_each_task_has_its_own_baseline() -> None:
    scores, groups = (0.5, 0.0, -1.0, -3.0), [0, 0, 1, 1]
    np.testing.assert_allclose(advantages(outcomes(*scores, groups=groups), "r3l"), [0.75, -0.25, 3, -1], atol=1e-12)
    # log((e^.5 + 1) / 2) = .280930; -1 + log((1 + e^-2) / 2) = -1.566219
    found = advantages(outcomes(*scores, groups=groups), "r3l", baseline="soft", amplify=1.0)
    np.testing.assert_allclose(found, [0.219070, -0.280930, 0.566219, -1.433781], atol=1e-6)


@pytest.mark.parametrize("baseline", ["mean", "soft"])
@pytest.mark.parametrize(("singleton", "score", "expected"), [
    ("raw", 0.5, 1.5), ("raw", -0.5, -0.5), ("raw", 2.0, 1.0), ("zero", 0.5, 0.0), ("zero", 2.0, 0.0),
])  # fmt: skip
def test_a_group_of_one_is_compared_with_zero_or_left_out(
    baseline: str, singleton: str, score: float, expected: float
) -> None:
    found = advantages(outcomes(score), "r3l", baseline=baseline, singleton=singleton)
    np.testing.assert_allclose(found, [expected], atol=1e-12)


@pytest.mark.parametrize("baseline", ["mean", "soft"])
@pytest.mark.parametrize(("score", "expected"), [(0.3, 0.0), (1.0, 1.0)])
def test_equal_scores_give_nothing_below_the_full_score_and_one_from_it_on(
    baseline: str, score: float, expected: float
) -> None:
    found = advantages(outcomes(score, score, score), "r3l", baseline=baseline)
    np.testing.assert_array_equal(found, [expected] * 3)
