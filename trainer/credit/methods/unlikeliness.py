"""Unlikeliness reward: GRPO with smaller rewards for likely episodes of the group.

::

    r'_i = r_i (1 - weight rank_i / n)        rank 0: the least likely episode of the group, n - 1: the likeliest
    A_i = (r'_i - mean_g) / (std_g + epsilon)        mean, std (ddof 1) of r'

r_i: sum of episode i's rewards; every step of the episode gets A_i. Likelihood: mean logprob of the tokens of all the
episode's replies together. n: episodes of the group. Averaging unit: episodes of the group, each once. Group of one: 0.
Equal rewards of 0: 0; other equal rewards have spread and favour unlikely episodes, as intended. The authors consider
two epochs per batch and a KL weight of 0.1 necessary; these are settings of the trainer.
Source: 2506.02355, AndreHe02/rewarding-unlikely-release. Departures: equally likely episodes share the mean of their
ranks, where the code ranks them in order, so that the order of episodes does not matter.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, Ids, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered, means
from cairn.trainer.credit.kernel.tokens import mean_logprobs


class UnlikelinessConfig(Config):
    """Settings of the unlikeliness reward."""

    weight: float = Field(0.25, ge=0, le=1, description="Share of its reward that the likeliest episode would lose.")
    epsilon: float = Field(1e-6, gt=0, description="Added to the standard deviation.")


def compute(table: StepTable, config: UnlikelinessConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    group = table.group[table.first_rows]
    share = _ranks(mean_logprobs(table), group) / np.bincount(group)[group]
    reward = scores(table) * (1 - config.weight * share)
    return centered(reward, group, scale="std", epsilon=config.epsilon)[table.episode]


def _ranks(x: Floats, group: Ids) -> Floats:
    """Return the number of smaller values in each value's group; ties share their mean rank."""
    order = np.lexsort((x, group))
    count = np.bincount(group)
    place = np.arange(len(x)) - (np.cumsum(count) - count)[group[order]]
    is_new = (np.diff(group[order], prepend=-1) != 0) | (np.diff(x[order], prepend=0.0) != 0)
    tie = np.cumsum(is_new) - 1
    rank = np.empty(len(x))
    rank[order] = means(place.astype(np.float64), tie)[tie]
    return rank


CREDIT = Credit(
    UnlikelinessConfig,
    from_function(compute),
    needs=("length", "logprob"),
    violates={"shift": "rewards are multiplied"},
)
