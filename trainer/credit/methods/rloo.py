"""RLOO: each episode's reward minus the mean reward of the group's other episodes.

::

    A_i = r_i - mean of r_j over j != i = n / (n - 1) (r_i - mean_g)
    normalize = "batch": A_i = (A_i - mean) / (std + epsilon) over all episodes of the batch, ddof 1

r_i: sum of episode i's rewards; every step of the episode gets A_i. n: episodes of the group. Averaging unit: episodes,
each once. Divisor: none, or the batch's. Group of one: 0, or r_i (`lone = "score"`). No spread: 0 before normalising.
Source: 2402.14740; the batch's deviation and its epsilon as an option of TRL. Departures: a group of one gives 0 by
default, as in verl's vectorised variant; verl's loop gives r_i.
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
from cairn.trainer.credit.kernel.segments import centered


class RLOOConfig(Config):
    """Settings of RLOO."""

    normalize: Literal["none", "batch"] = Field(
        "none", description="Centre and divide by the deviation over the batch's episodes, or not; mixes groups."
    )
    lone: Literal["zero", "score"] = Field("zero", description="Advantage of a group of one: 0, or its own score.")
    epsilon: float = Field(1e-4, gt=0, description="Added to the batch's standard deviation.")


def compute(table: StepTable, config: RLOOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    score, group = scores(table), table.group[table.first_rows]
    advantage = centered(score, group, baseline="loo")
    if config.lone == "score":
        advantage = np.where(np.bincount(group)[group] == 1, score, advantage)
    if config.normalize == "batch":
        batch = np.zeros(len(score), np.int64)
        advantage = centered(advantage, batch, scale="std", epsilon=config.epsilon)
    return advantage[table.episode]


CREDIT = Credit(RLOOConfig, from_function(compute))
