"""EGAE against the worked example: a window without reward, values .1 .9 .3 .5, lambda .95."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes

VALUES = [0.1, 0.9, 0.3, 0.5]


def episode(
    reward: Sequence[float], value: Sequence[float], *, truncated: bool, final: float | None = None
) -> StepTable:
    n = len(reward)
    return StepTable.from_columns(
        group=[0] * n, episode=[0] * n, turn=range(n), anchor=range(n), action=range(n), reward=reward, value=value,
        truncated=[truncated] * n, final_value=None if final is None else [final] * n,
    )  # fmt: skip


def test_the_worked_example() -> None:
    # deltas .8, -.6, .2 and .5 - .5 = 0: .2; -.6 + .95 x .2 = -.41; .8 - .95 x .41 = .4105
    found = advantages(episode([0] * 4, VALUES, truncated=True), "egae")
    np.testing.assert_allclose(found, [0.4105, -0.41, 0.2, 0.0], atol=1e-12)


def test_a_finished_episode_gets_gae() -> None:
    # the last delta is 1 - .5
    table = episode([0, 0, 0, 1], VALUES, truncated=False)
    found = advantages(table, "egae", gamma=0.9, lam=0.8)
    np.testing.assert_allclose(found[-1], 0.5, atol=1e-12)
    np.testing.assert_allclose(found, advantages(table, "gae", gamma=0.9, lam=0.8), atol=1e-12)


def test_a_discount_leaves_the_last_turn_of_a_window_a_little_below_zero() -> None:
    # .9 x .5 - .5 = -.05
    found = advantages(episode([0] * 4, VALUES, truncated=True), "egae", gamma=0.9)
    np.testing.assert_allclose(found[-1], -0.05, atol=1e-12)


def test_rewards_inside_a_window_count() -> None:
    # lambda 0: .9 - .1 + .25, and .9 - .9 + .5
    found = advantages(episode([0.25, 0.5], [0.1, 0.9], truncated=True), "egae", lam=0.0)
    np.testing.assert_allclose(found, [1.05, 0.5], atol=1e-12)


def test_final_values_are_not_read() -> None:
    found = advantages(episode([0] * 4, VALUES, truncated=True, final=7.0), "egae")
    np.testing.assert_allclose(found, [0.4105, -0.41, 0.2, 0.0], atol=1e-12)


def test_values_are_needed() -> None:
    with pytest.raises(CairnError, match="credit 'egae' needs value"):
        advantages(outcomes(1, 0), "egae")
