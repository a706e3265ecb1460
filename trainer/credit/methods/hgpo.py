"""HGPO: compares a step's return among steps with equal recent states, for several lengths.

::

    R_{i,t} = sum_{u >= t} gamma^(u - t) r_{i,u}
    a_k     = (R - mean) / (std + epsilon)       among steps of the group whose last k states are equal
    A       = sum_k (k + 1)^alpha a_k / sum_k (k + 1)^alpha       k = 1 .. min(history, t) + 1
    a_0     = GRPO's advantage, std with ddof 1, with weight 1; only with `base_group`

std with ddof 0 in the others. Averaging unit: steps. Only k with two steps or more count, and of those, as in the
source, only those with a_k other than 0 (`average_over = "nonzero"`). This also excludes comparisons whose result is
exactly 0; "groups" keeps them. A unique step, or one without spread: 0. history = 0: GiGPO's step term with ddof 0.
Source: 2602.22817 and its authors' code. Departure: |a_k| up to 1e-8 is 0, so that rounding errors do not select the
weights.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Flags, Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel import keys
from cairn.trainer.credit.kernel.family import episode_term
from cairn.trainer.credit.kernel.returns import returns
from cairn.trainer.credit.kernel.segments import centered, segments

_ZERO = 1e-8


class HGPOConfig(Config):
    """Settings of HGPO."""

    gamma: float = Field(0.95, ge=0, le=1, description="Discount of the step returns.")
    history: int = Field(2, ge=0, description="K: how many earlier states are compared besides the present one.")
    alpha: float = Field(1.0, ge=0, description="How fast the weight grows with the length of the history.")
    average_over: Literal["nonzero", "groups"] = Field(
        "nonzero", description="Which lengths count: those that tell something, or all with two steps or more."
    )
    base_group: bool = Field(False, description="Count the comparison between episodes as history of length 0.")
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: HGPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    step_return = returns(table, table.reward, config.gamma)
    total, weight = np.zeros(len(table)), np.zeros(len(table))

    def add(score: Floats, counts: Flags, by: float) -> None:
        is_used = counts & (np.abs(score) > _ZERO) if config.average_over == "nonzero" else counts
        total[is_used] += by * score[is_used]
        weight[is_used] += by

    if config.base_group:
        has_peers = np.bincount(table.group[table.first_rows])[table.group] > 1
        add(episode_term(table, "std", config.epsilon), has_peers, 1.0)
    for k in range(1, config.history + 2):
        segment = segments(table.group, keys.observations(table, k))
        score = centered(step_return, segment, scale="std", epsilon=config.epsilon, ddof=0)
        add(score, (np.bincount(segment)[segment] > 1) & (table.turn >= k - 1), (k + 1) ** config.alpha)
    return total / np.maximum(weight, 1.0)


CREDIT = Credit(HGPOConfig, from_function(compute))
