"""GiGPO: GRPO between episodes, plus the same comparison among actions of an anchor state.

::

    e_{i,t} = sum_u r_{i,u} - penalty [reply t invalid]                       episode score, one a row
    R_{i,t} = sum_{u >= t} gamma^(u - t) r_{i,u} - penalty [reply t invalid]  step return
    A_{i,t} = norm(e; group) + weight norm(R; group and anchor)
    norm(x) = x - mean, or (x - mean) / (std + epsilon)

std with ddof 1. Averaging unit of the episode term: episodes, each once (the paper), or step rows (the authors' code),
by `averaging`. Both take the mean and the variance of the penalised row scores e. With episodes as units, a row of an
episode of T steps has weight 1/T, and the variance is divided by n - 1 for n episodes, so that ``|e - mean| / std`` is
at most ``sqrt((n - 1) T)``. Averaging unit of the step term: step rows in the anchor group. An anchor group of one, or
without spread: step term 0, so the row falls back to its episode term. In a task group of one only an invalid reply
changes the episode term: its rows are compared with each other.
Source: 2505.10978, eqs. 3-8; constants from langfengQ/verl-agent. Departures: a task group of one is compared with its
own mean, where the code gives the score itself; the default is the paper's averaging over episodes, and the weight 1/T,
which includes the per-row penalty in mean and variance, is our choice.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import returns, scores
from cairn.trainer.credit.kernel.segments import centered, segments


class GiGPOConfig(Config):
    """Settings of GiGPO."""

    gamma: float = Field(0.95, ge=0, le=1, description="Discount of the step returns.")
    weight: float = Field(1.0, ge=0, description="Of the step term.")
    normalize: Literal["none", "std"] = Field(
        "none", description="Divide both terms by their group's standard deviation, or not."
    )
    averaging: Literal["episode", "step"] = Field(
        "episode", description="Unit of the episode term's mean and deviation."
    )
    invalid_penalty: float = Field(0.1, ge=0, description="Taken off a row whose reply was invalid.")
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: GiGPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    penalty = config.invalid_penalty * ~table.valid
    score = scores(table)[table.episode] - penalty
    weight = 1.0 / np.bincount(table.episode)[table.episode] if config.averaging == "episode" else None
    episode_term = centered(score, table.group, scale=config.normalize, epsilon=config.epsilon, weight=weight)
    step_return = returns(table, table.reward, config.gamma) - penalty
    step_term = centered(
        step_return, segments(table.group, table.anchor), scale=config.normalize, epsilon=config.epsilon
    )
    return episode_term + config.weight * step_term


CREDIT = Credit(GiGPOConfig, from_function(compute))
