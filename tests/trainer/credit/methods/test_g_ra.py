"""G-RA against the worked example: outcome 1, steps .2 and .1, threshold .5, weight .5 come to 1.15; outcome 0 to 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from cairn.core.errors import CairnError, ConfigError
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes

Channels = Mapping[str, Sequence[float]]
GATED: dict[str, Any] = {"priority": ("outcome", "step"), "normalize": "none"}


def found(
    channels: Channels,
    *,
    turns: Sequence[int],
    groups: Sequence[int] | None = None,
    truncated: Sequence[bool] | None = None,
    **config: Any,  # Any: of several types
) -> Floats:
    """Return the advantages of episodes with the given numbers of turns."""
    rows = [(e, t) for e, count in enumerate(turns) for t in range(count)]
    steps = StepTable.from_columns(
        group=[0 if groups is None else groups[e] for e, _ in rows], episode=[e for e, _ in rows],
        turn=[t for _, t in rows], anchor=range(len(rows)), action=range(len(rows)),
        reward=np.sum(list(channels.values()), axis=0), channels=channels, parts=tuple(channels),
        truncated=None if truncated is None else [truncated[e] for e, _ in rows],
    )  # fmt: skip
    return advantages(steps, "g_ra", **config)


EXAMPLE: Channels = {"outcome": [0, 1, 0, 0], "step": [0.2, 0.1, 0.2, 0.1]}


def test_the_worked_example() -> None:
    # totals 1.15 and 0: mean .575
    rows = found(EXAMPLE, turns=[2, 2], thresholds=(0.5,), weight=0.5, **GATED)
    np.testing.assert_allclose(rows, [0.575, 0.575, -0.575, -0.575], atol=1e-12)


def test_over_the_deviation_it_is_grpo_of_the_totals() -> None:
    # 1.15 and 0: std .813173: +-.707107; with epsilon 1: .575 / 1.813173
    rows = found(EXAMPLE, turns=[2, 2], weight=0.5, priority=("outcome", "step"))
    np.testing.assert_allclose(rows, [0.707107, 0.707107, -0.707107, -0.707107], atol=2e-6)
    rows = found(EXAMPLE, turns=[2, 2], weight=0.5, priority=("outcome", "step"), epsilon=1.0)
    np.testing.assert_allclose(rows[0], 0.317124, atol=1e-6)


@pytest.mark.parametrize(("threshold", "totals"), [(0.5, [1.0, 0.5]), (0.49, [1.0, 0.8]), (1.0, [0.7, 0.5])])
def test_a_gate_opens_above_its_threshold(threshold: float, totals: list[float]) -> None:
    # outcomes .7 and .5, each with .3 of shaping
    rows = found({"outcome": [0.7, 0.5], "step": [0.3, 0.3]}, turns=[1, 1], thresholds=(threshold,), **GATED)
    half = (totals[0] - totals[1]) / 2
    np.testing.assert_allclose(rows, [half, -half], atol=1e-12)


def test_the_default_threshold_is_zero() -> None:
    # .1 opens the gate, 0 does not: totals .4 and 0
    rows = found({"outcome": [0.1, 0.0], "step": [0.3, 0.3]}, turns=[1, 1], **GATED)
    np.testing.assert_allclose(rows, [0.2, -0.2], atol=1e-12)


def test_penalties_pass_a_closed_gate() -> None:
    # No outcome: .5 is closed, -.3 counts; weight .5: totals 0 and -.15
    rows = found({"outcome": [0, 0], "step": [0.5, -0.3]}, turns=[1, 1], weight=0.5, **GATED)
    np.testing.assert_allclose(rows, [0.075, -0.075], atol=1e-12)


def test_a_channel_needs_all_gates_before_it() -> None:
    # a 1 1 0, b 1 0 1, c 1 1 1. a opens b where it is 1; a and b open c: totals 3, 1 and 0, mean 4/3
    channels: Channels = {"a": [1, 1, 0], "b": [1, 0, 1], "c": [1, 1, 1]}
    rows = found(channels, turns=[1] * 3, priority=("a", "b", "c"), normalize="none")
    np.testing.assert_allclose(rows, [5 / 3, -1 / 3, -4 / 3], atol=1e-12)
    # with thresholds 0 and 2 the third channel stays closed: totals 2, 1, 0
    rows = found(channels, turns=[1] * 3, priority=("a", "b", "c"), thresholds=(0.0, 2.0), normalize="none")
    np.testing.assert_allclose(rows, [1, 0, -1], atol=1e-12)


def test_an_episode_cut_by_a_budget_closes_its_gates() -> None:
    # totals 1.3 and, cut, 1
    channels: Channels = {"outcome": [1, 1], "step": [0.3, 0.3]}
    rows = found(channels, turns=[1, 1], truncated=[False, True], **GATED)
    np.testing.assert_allclose(rows, [0.15, -0.15], atol=1e-12)


def test_parts_without_a_place_count_as_they_are() -> None:
    # The second episode's gate is closed: totals 1 + .3 + 2 and 0 + 0 + 4
    channels: Channels = {"outcome": [1, 0], "step": [0.3, 0.3], "other": [2, 4]}
    np.testing.assert_allclose(found(channels, turns=[1, 1], **GATED), [-0.35, 0.35], atol=1e-12)


def test_without_a_priority_it_is_grpo() -> None:
    rows = found(EXAMPLE, turns=[2, 2], normalize="none")
    np.testing.assert_allclose(rows, [0.5, 0.5, -0.5, -0.5], atol=1e-12)


def test_rewards_are_discounted_from_the_start() -> None:
    # gamma .5, weight 1: .2 + .5 x 1.1 = .75 and 0
    rows = found(EXAMPLE, turns=[2, 2], gamma=0.5, **GATED)
    np.testing.assert_allclose(rows, [0.375, 0.375, -0.375, -0.375], atol=1e-12)


def test_returns_of_rows_are_compared_over_the_rows_of_the_group() -> None:
    # returns .2 + 1.1 = 1.3, 1.1, 0, 0: mean .6
    rows = found(EXAMPLE, turns=[2, 2], credit="return", **GATED)
    np.testing.assert_allclose(rows, [0.7, 0.5, -0.6, -0.6], atol=1e-12)


def test_each_task_is_compared_with_itself() -> None:
    channels: Channels = {"outcome": [1, 0, 5, 3], "step": [0.3, 0.3, 0.5, 0.3]}
    rows = found(channels, turns=[1] * 4, groups=[0, 0, 1, 1], **GATED)
    np.testing.assert_allclose(rows, [0.65, -0.65, 1.1, -1.1], atol=1e-12)


@pytest.mark.parametrize("normalize", ["none", "std"])
def test_a_group_of_one_and_one_without_spread_have_no_advantage(normalize: str) -> None:
    config = {**GATED, "normalize": normalize}
    np.testing.assert_array_equal(found({"outcome": [1, 0], "step": [0.2, 0.1]}, turns=[2], **config), np.zeros(2))
    np.testing.assert_array_equal(found({"outcome": [1] * 3, "step": [0.3] * 3}, turns=[1] * 3, **config), np.zeros(3))


def test_errors_name_the_missing_parts() -> None:
    with pytest.raises(CairnError, match=r"got \['format'\]; the table's parts are \['outcome', 'step'\]"):
        found(EXAMPLE, turns=[2, 2], priority=("outcome", "format"))
    with pytest.raises(ConfigError, match="expected at most 1, one for each part in `priority` but the last"):
        found(EXAMPLE, turns=[2, 2], priority=("outcome", "step"), thresholds=(0.0, 0.0))
    with pytest.raises(CairnError, match="credit 'g_ra' needs parts"):
        advantages(outcomes(1, 0), "g_ra")
