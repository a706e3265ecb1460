"""Lite-PPO: rewards minus the group's mean, divided by the batch's standard deviation.

::

    A_i = (r_i - mean_g) / (std + epsilon)        std, ddof 1, over all episodes of the batch, each once
    of r (`spread_of = "rewards"`), or of r - mean_g ("centred")

r_i: sum of episode i's rewards; every step of the episode gets A_i. Averaging unit of the mean: episodes of the group,
each once. Group of one: 0. No spread in the group: 0.
The method's other change, the loss averaged over tokens, is a setting of the loss; no KL.
Source: 2508.08221; std and epsilon as in TRL. The paper's wording allows both readings of the std; the default follows
TRL's `scale_rewards = "batch"`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered


class LitePPOConfig(Config):
    """Settings of Lite-PPO."""

    spread_of: Literal["rewards", "centred"] = Field(
        "rewards", description="Standard deviation of rewards, or of rewards minus their group's mean."
    )
    epsilon: float = Field(1e-4, gt=0, description="Added to the standard deviation.")


def compute(table: StepTable, config: LitePPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    score, group = scores(table), table.group[table.first_rows]
    x = centered(score, group) if config.spread_of == "centred" else score
    return centered(x, group, scale="batch", epsilon=config.epsilon)[table.episode]


CREDIT = Credit(
    LitePPOConfig, from_function(compute), violates={"scoped": "the standard deviation is that of the whole batch"}
)
