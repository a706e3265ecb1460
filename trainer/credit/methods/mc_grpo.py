"""MC-GRPO: rewards relative to the group's median, scaled by the median deviation.

::

    b = lower median of r        MAD = lower median of |r - b|        a_i = (r_i - b) / (MAD + epsilon)
    A_i = n / z a_i where |a_i| > 1e-6, else 0                        z: how many such a_i the group has

r_i: sum of episode i's rewards; every step of the episode gets A_i. n: episodes of the group, including the extra one:
the method samples an odd number. Averaging unit: episodes of the group, each once. The median episode of a group has
advantage 0 and its tokens are excluded from the loss and its normaliser (`learned`); of equal episodes, this is the
middle one in the table's order. A group of one stays in the loss, with advantage 0. No spread: 0. MAD below `guard`
times the largest |r - b| of the group, as with binary rewards and a clear majority: no division. So |a_i| is at most 1
/ guard, or |r_i - b|.
Source: 2601.22582, lotusroot-kim/MC-GRPO. Departures: the guard is our addition; `guard = 0` divides by MAD and epsilon
as the released code does, which gives advantages of 1000 and more.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.table import Flags, Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered, lower_median, lower_median_rows

_NOT_ZERO = 1e-6  # the released code's threshold for a nonzero advantage


class MCGRPOConfig(Config):
    """Settings of MC-GRPO."""

    guard: float = Field(
        0.05,
        ge=0,
        le=1,
        description="A median distance below this share of the largest is not divided by; 0: always divide.",
    )
    epsilon: float = Field(1e-3, gt=0, description="Added to the median distance.")


class MCGRPO:
    """The estimator, which leaves the median episodes out of the loss."""

    def __init__(self, config: MCGRPOConfig) -> None:
        self.config = config

    def __call__(self, table: StepTable, /) -> Floats:
        """Return one advantage per row, float64 [N]."""
        group = table.group[table.first_rows]
        distance = centered(scores(table), group, baseline="median")
        spread = lower_median(np.abs(distance), group)
        largest = np.zeros(len(spread))
        np.maximum.at(largest, group, np.abs(distance))
        divisor = np.where(spread < self.config.guard * largest, 1.0, spread + self.config.epsilon)
        advantage = distance / divisor[group]
        is_moved = np.abs(advantage) > _NOT_ZERO
        factor = np.bincount(group) / np.maximum(np.bincount(group, is_moved), 1)
        return np.where(is_moved, factor[group] * advantage, 0.0)[table.episode]

    def learned(self, table: StepTable) -> Flags:
        """Return the rows to train on, [N]: all but the median episode of each group of two or more."""
        group = table.group[table.first_rows]
        out = np.ones(len(group), np.bool_)
        out[lower_median_rows(scores(table), group)] = np.bincount(group) == 1
        return out[table.episode]


CREDIT = Credit(MCGRPOConfig, MCGRPO, violates={"better": "of two, the worse is the lower median and has 0"})
