"""A-GRAE: GRPO that weights hard tasks and successes more as the policy improves.

::

    p_g = mean of r in group g        w = mean of p_g over the groups of the batch        a_i = GRPO's advantage
    m_i = a_i / 2 (w / (sqrt(p_g) + epsilon) + (1 - w) / (D_g + epsilon))
    D_g = sqrt(1 - p_g) (`denominator = "paper"`) or 1 - sqrt(p_g) ("code")
    A_i = m_i min(1, w / alpha) where m_i > 0, else m_i

r_i: sum of episode i's rewards, in [0, 1]: p and w clip rewards to this range. Every step of the episode gets A_i.
Averaging units: episodes of the group, each once; groups of the batch, each once. Divisors: std with ddof 1, or none
(`normalize = "none"`), and those above. Group of one: 0. No spread: 0. p of 0 or 1: 0. In both divisors any other p is
clipped to half an episode from the ends, within [0.5 / n, 1 - 0.5 / n] for n episodes.
Source: 2602.05548, HKU-HealthAI/A-GRAE. Paper and code differ in D; the default is the paper's, because the code's D is
nearly 0 for easy tasks, which gives their failures very large weights. Departure: the limits of p, which never apply to
binary rewards. Without the limits, rewards such as 0.0001 and 0 cause a division by nearly 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered, means


class AGRAEConfig(Config):
    """Settings of A-GRAE."""

    denominator: Literal["paper", "code"] = Field("paper", description="D: sqrt(1 - p), or 1 - sqrt(p).")
    alpha: float = Field(1.0, gt=0, description="Mean reward from which on successes are not damped.")
    normalize: Literal["none", "std"] = Field("std", description="Divide by the group's standard deviation, or not.")
    epsilon: float = Field(1e-6, gt=0, description="Added to the standard deviation and to both denominators.")


def compute(table: StepTable, config: AGRAEConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    score, group = scores(table), table.group[table.first_rows]
    advantage = centered(score, group, scale=config.normalize, epsilon=config.epsilon)
    success_rate = means(np.clip(score, 0.0, 1.0), group)
    progress = float(success_rate.mean())
    margin = 0.5 / np.bincount(group)
    inner = np.clip(success_rate, margin, 1 - margin)
    root = np.sqrt(inner)
    other = np.sqrt(1 - inner) if config.denominator == "paper" else 1 - root
    focus = progress / (root + config.epsilon) + (1 - progress) / (other + config.epsilon)
    mixed = 0.5 * advantage * np.where((success_rate > 0) & (success_rate < 1), focus, 0.0)[group]
    return np.where(mixed > 0, mixed * min(1.0, progress / config.alpha), mixed)[table.episode]


CREDIT = Credit(
    AGRAEConfig,
    from_function(compute),
    assumes=("scores of 0 or more",),
    violates={"scoped": "w is the mean over the batch", "shift": "p and w are rewards, not differences of rewards"},
)
