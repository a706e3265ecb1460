"""G-RA: gates each shaping reward by thresholds on the more important rewards, then GRPO.

::

    parts of the reward in `priority`: c_1 the most important, c_2, ...
    r'_{i,t} = r_{i,t} with c_k, for k > 1, replaced by  weight c_k  if gate k is open, else by  weight min(c_k, 0)
    gate k   = episode i is not truncated, and sum over its turns of c_j > threshold_j for all j < k
    x_{i,t}  = sum_{u >= t} gamma^(u - t) r'_{i,u}
    A_{i,t}  = norm(x_{i,0}; episodes of the group) (`credit = "episode"`) or norm(x_{i,t}; rows of the group), "return"
    norm(x)  = (x - mean) / (std + epsilon), or x - mean

c_1 and parts outside `priority` count unchanged, so with an empty `priority` nothing is gated. Penalties, rewards below
0, pass every gate. std with ddof 1. Averaging unit: episodes, each once, or step rows, by `credit`. Degenerate cases:
no spread: 0; a group of one: 0 (with "return" its rows are compared with each other).
Source: 2508.10548, known from notes and third-party code: thresholds and weight are placeholders. Departures: the
source only defines a reward; the use of GRPO's advantage for that reward, in both forms, is our choice.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import returns
from cairn.trainer.credit.kernel.segments import centered


class GRAConfig(Config):
    """Settings of G-RA."""

    priority: tuple[str, ...] = Field((), description="Parts of the reward, the most important first.")
    thresholds: tuple[float, ...] = Field((), description="Of all of those but the last; missing ones are 0.")
    weight: float = Field(1.0, ge=0, description="Of the parts after the first.")
    gamma: float = Field(1.0, ge=0, le=1, description="Discount of a turn.")
    credit: Literal["episode", "return"] = Field("episode", description="Compare episodes, or returns of rows.")
    normalize: Literal["none", "std"] = Field("std", description="Divide by the group's standard deviation, or not.")
    epsilon: float = Field(1e-6, gt=0, description="Added to the standard deviation.")

    @field_validator("thresholds")
    @classmethod
    def _no_more_than_gates(cls, thresholds: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        gates = max(len(info.data.get("priority", ())) - 1, 0)
        if len(thresholds) > gates:
            raise ValueError(f"expected at most {gates}, one for each part in `priority` but the last")
        return thresholds


def compute(table: StepTable, config: GRAConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    x = returns(table, gated(table, config), config.gamma)
    if config.credit == "return":
        return centered(x, table.group, scale=config.normalize, epsilon=config.epsilon)
    first = table.first_rows
    episode = centered(x[first], table.group[first], scale=config.normalize, epsilon=config.epsilon)
    return episode[table.episode]


def gated(table: StepTable, config: GRAConfig) -> Floats:
    """Return the rewards without the parts behind closed gates, [N]."""
    out, is_open = table.reward.copy(), ~table.truncated
    for place, name in enumerate(config.priority):
        part = table.channel(name)
        if place:
            out += config.weight * np.where(is_open, part, np.minimum(part, 0.0)) - part
        threshold = config.thresholds[place] if place < len(config.thresholds) else 0.0
        is_open = is_open & (np.bincount(table.episode, part) > threshold)[table.episode]
    return out


CREDIT = Credit(GRAConfig, from_function(compute), needs=("parts",), parts=lambda config: config.priority)
