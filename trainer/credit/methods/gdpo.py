"""GDPO: normalises each part of the reward within its group, then the sum over the batch.

::

    a_{k,i} = (r_{k,i} - mean_g) / (std_g + epsilon)        for each part k of the reward, a channel of `table.parts`
    S_i = sum_k weight_k a_{k,i}
    A_i = (S_i - mean S) / (std S + epsilon)                over all episodes of the batch (`whiten = "episodes"`)

r_{k,i}: sum of episode i's rewards in part k; every step of the episode gets A_i. Averaging units: episodes of the
group, each once; then episodes of the batch, each once, or tokens ("tokens": A = (S - mean) / sqrt(var + 1e-8), each
step counted once per token of its reply; a step without tokens gets 0). Divisors: ddof 1. A part without spread in its
group adds 0. Group of one: S = 0. With episodes as units A is then 0 too, as their mean S is 0; with tokens, the
batch's mean still shifts it. No spread: likewise.
The authors advise gating an easy part on a hard one instead of small weights; that belongs to the environment's reward.
Source: 2601.05242, NVlabs/GDPO; tokens as in verl, whose epsilon is 1e-6. Departures: the table rejects a part that is
NaN, where TRL skips it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.errors import CairnError
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.segments import centered
from cairn.trainer.credit.kernel.tokens import whitened

_TOKEN_EPSILON = 1e-8  # inside the root, as in masked whitening


class GDPOConfig(Config):
    """Settings of GDPO."""

    weights: dict[str, float] = Field(
        default_factory=dict, description="Of parts of the reward by name; 1 where left out."
    )
    whiten: Literal["episodes", "tokens"] = Field("episodes", description="Unit of the batch's statistics.")
    epsilon: float = Field(1e-4, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: GDPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    if config.whiten == "tokens" and table.length is None:
        raise CairnError("credit 'gdpo': whiten = 'tokens' needs the column length, which this StepTable has not")
    group = table.group[table.first_rows]
    total = np.zeros(len(group))
    for name in table.parts:
        score = np.bincount(table.episode, table.channel(name)).astype(np.float64)
        term = centered(score, group, scale="std", epsilon=config.epsilon)
        total += config.weights.get(name, 1.0) * term
    if config.whiten == "tokens":
        return whitened(table, total[table.episode], _TOKEN_EPSILON)
    # S has mean 0 in every group and so in the batch; subtracting the group's mean keeps exact zeros.
    return centered(total, group, scale="batch", epsilon=config.epsilon)[table.episode]


CREDIT = Credit(
    GDPOConfig,
    from_function(compute),
    needs=("parts",),
    parts=lambda config: config.weights,
    violates={
        "scoped": "the last mean and standard deviation are those of the whole batch",
        "shift": "it reads parts of the reward, and a score that is shifted may consist of others",
    },
)
