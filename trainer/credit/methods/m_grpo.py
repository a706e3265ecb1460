"""M-GRPO: GRPO per agent; an agent's episodes are compared with those of the same role.

::

    A_{i,role} = (x_{i,role} - mean) / (std + epsilon)        over the episodes of the group in which the role acted
    x          = the episode's score (`reward = "episode"`), or the sum of the role's own rewards in it ("own")

std with ddof 1. Averaging unit: pairs of an episode and a role, each once, independent of its number of rows or calls.
All rows of a pair get its advantage. Degenerate cases: a role that acted in only one episode of the group, or without
spread: 0. A role's comparison excludes the episodes in which it did not act. One role: GRPO.
Source: 2511.13288 and AQ-MedAI/MrlX. Departures: the group is that of the prompt, where the release takes its
sub-agent's group from a queue; several calls of a sub-agent in one episode are one sub-trajectory. Not implemented: a
sub-agent's reward, the alignment to a fixed number of sub-trajectories, and one optimiser per role.
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
from cairn.trainer.credit.kernel.segments import centered, segments


class MGRPOConfig(Config):
    """Settings of M-GRPO."""

    reward: Literal["episode", "own"] = Field(
        "episode",
        description="The compared quantity of a role: the score of the episode, or the rewards of its own rows.",
    )
    normalize: Literal["none", "std"] = Field("std", description="Divide by the role's standard deviation, or not.")
    epsilon: float = Field(1e-6, gt=0, description="Added to the standard deviation.")


def compute(table: StepTable, config: MGRPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    assert table.role is not None  # `needs`
    pair = segments(table.episode, table.role)
    once = np.zeros(len(table))
    once[np.unique(pair, return_index=True)[1]] = 1.0
    x = scores(table)[table.episode]
    if config.reward == "own":
        x = np.bincount(pair, table.reward).astype(np.float64)[pair]
    segment = segments(table.group, table.role)
    return centered(x, segment, scale=config.normalize, epsilon=config.epsilon, weight=once)


CREDIT = Credit(MGRPOConfig, from_function(compute), needs=("role",))
