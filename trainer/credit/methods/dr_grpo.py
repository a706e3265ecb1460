"""Dr. GRPO: each episode's reward minus its group's mean, without division by the spread.

::

    A_i = r_i - mean_g

r_i: sum of episode i's rewards; every step of the episode gets A_i. Averaging unit: episodes of the group, each once.
Divisor: none. Group of one: 0. No spread: 0.
The method's other half belongs to the loss: the sum over tokens divided by a constant that is the same for all batches,
without KL.
Source: 2503.20783. Departures: none; `grpo` with `normalize = "none"` gives the same numbers.
"""

from __future__ import annotations

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered


class DrGRPOConfig(Config):
    """Settings of Dr. GRPO (none)."""


def compute(table: StepTable, config: DrGRPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    return centered(scores(table), table.group[table.first_rows])[table.episode]


CREDIT = Credit(DrGRPOConfig, from_function(compute))
