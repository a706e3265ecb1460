"""PSHW: rewards minus the group's mean, with lower weights for mostly solved groups.

::

    A_i = (R_i - mu_g) (slope mu_g + offset)        mu_g = mean of R in the group
    R_i = 2 (r_i - worst) / (1 - worst) - 1         so that `worst` is -1 and 1 stays 1

r_i: sum of episode i's rewards, within [worst, 1]; outside this range, mu_g in the weight is clipped. Every step of the
episode gets A_i. Averaging unit: episodes of the group, each once. Divisor: none. With the defaults the weight is 1.512
where all failed and 1 where all succeeded. Group of one: 0. No spread: 0.
The method uses DAPO's sampling and clip, and its loss sums over tokens; these are settings of sampler and loss.
Source: 2506.18330 (Confucius3-Math), section 6.2. Departures: `worst = 0` takes rewards of 0 and 1, where the report
has -1 and 1 (the default).
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered, means


class PSHWConfig(Config):
    """Settings of PSHW."""

    slope: float = Field(-0.256, allow_inf_nan=False, description="Change of the weight with the group's mean.")
    offset: float = Field(1.256, allow_inf_nan=False, description="Weight of a group whose mean is 0.")
    worst: float = Field(-1.0, lt=1, allow_inf_nan=False, description="Reward of a failed episode; a solved one has 1.")


def compute(table: StepTable, config: PSHWConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    group = table.group[table.first_rows]
    reward = 2 * (scores(table) - config.worst) / (1 - config.worst) - 1
    weight = config.slope * np.clip(means(reward, group), -1.0, 1.0) + config.offset
    return (weight[group] * centered(reward, group))[table.episode]


CREDIT = Credit(PSHWConfig, from_function(compute), violates={"shift": "the weight depends on the group's mean"})
