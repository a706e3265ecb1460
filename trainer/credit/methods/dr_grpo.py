"""Dr. GRPO: each episode's reward minus its group's mean, not divided by the group's spread.

::

    A_i = r_i - mean_g

r_i: sum of episode i's rewards; every step of the episode has A_i. Averaging unit: episodes of the group, each once.
Divisor: none. Group of one: 0. No spread: 0.
The method's other half belongs to the loss: sum over tokens / a constant that does not change between batches, and no
KL.
Source: 2503.20783. Departures: none; `grpo` with `normalize = "none"` gives the same numbers.
"""

from __future__ import annotations

from cairn.core.config import Config
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered


class DrGRPOConfig(Config):
    """Settings of Dr. GRPO: there are none."""


def compute(table: StepTable, config: DrGRPOConfig) -> Floats:
    """Return one advantage a row, float64 [N]."""
    return centered(scores(table), table.group[table.first_rows])[table.episode]


CREDIT = Credit(DrGRPOConfig, compute)
