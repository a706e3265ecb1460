"""GF-Screen: GRPO with a floor for the divisor and a limit for advantages.

For rewards that are nearly constant.

::

    A_i = clip((r_i - mean_g) / max(std_g, floor), -limit, limit)        std with ddof 1

r_i: sum of episode i's rewards; every step of the episode gets A_i. Averaging unit: episodes of the group, each once.
No epsilon: the floor replaces it. Group of one: 0. No spread: 0.
The method's clip of 0.1, its ratio within [0.01, 5] and its KL to the old policy, 0.01, are settings of the loss.
Source: 2601.19103, Luffy03/GF-Screen. Departures: none.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered


class GFScreenConfig(Config):
    """Settings of GF-Screen."""

    floor: float = Field(0.01, gt=0, description="Least divisor.")
    limit: float = Field(5.0, gt=0, description="Greatest advantage, and least with its sign turned.")


def compute(table: StepTable, config: GFScreenConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    advantage = centered(scores(table), table.group[table.first_rows], scale="floor", floor=config.floor)
    return np.clip(advantage, -config.limit, config.limit)[table.episode]


CREDIT = Credit(GFScreenConfig, from_function(compute))
