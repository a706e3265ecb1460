"""GRPO: each episode's reward relative to the other episodes of its task.

Every step of an episode gets the same advantage.

::

    A_i = (r_i - mean_g) / (std_g + epsilon)        std with ddof 1; or without the division (`normalize = "none"`)

r_i: sum of episode i's rewards. Averaging unit: episodes of the group, each once. Group of one: 0. No spread: 0.
Source: DeepSeekMath (2402.03300), eq. 3; constants as in verl. Departures: a group of one gives 0, where verl's
loop gives r_i; `normalize = "none"` is the advantage of Dr. GRPO (2503.20783).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.segments import centered


class GRPOConfig(Config):
    """Settings of GRPO."""

    normalize: Literal["none", "std"] = Field("std", description="Divide by the group's standard deviation, or not.")
    epsilon: float = Field(1e-6, gt=0, description="Added to the standard deviation.")


def compute(table: StepTable, config: GRPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    first = table.first_rows
    score = np.bincount(table.episode, table.reward).astype(np.float64)
    advantage = centered(score, table.group[first], scale=config.normalize, epsilon=config.epsilon)
    return advantage[table.episode]


CREDIT = Credit(GRPOConfig, from_function(compute))
