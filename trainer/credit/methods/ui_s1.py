"""UI-S1: step returns along the expert's path, compared at equal turns, and episode term.

::

    R_{i,t} = r_{i,t} + gamma m_{i,t} m_{i,t+1} R_{i,t+1}          m: 1 where the step equals the expert's, else 0
    A_{i,t} = episode_weight E_{i,t} + step_weight norm(R; group and turn)
    E       = norm(sum of r_i; episodes of the group) (`episode = "return"`), or norm(r_{i,t}; rows of the group), "row"
    norm(x) = (x - mean) / (std + epsilon), or x - mean

A mismatched step gets no credit for the patched future, and its own reward does not enter the return of the preceding
step. m is the channel `match`; `reward` holds the step rewards, and the turn number is that of the expert's step. std
with ddof 1. Averaging units: episodes or rows in E, by `episode`; steps of one turn in the other term. Degenerate
cases: a turn that only one episode has: step term 0; a group of one: 0 (with "row" its rows are compared with each
other); no spread: 0.
Source: 2509.11543 and X-PLUG/MobileAgent, `UI-S1`. The paper's episode term uses the trajectory return, and the code's
uses row scores; the default follows the paper. Departures: a trajectory's return is the undiscounted sum of its
rewards; a group of one gives 0. Not implemented: the rewards, patching, and the filter on the spread of returns.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel import keys
from cairn.trainer.credit.kernel.family import episode_term
from cairn.trainer.credit.kernel.returns import discounted, following
from cairn.trainer.credit.kernel.segments import centered, segments

_MATCH = "match"  # the channel


class UIS1Config(Config):
    """Settings of UI-S1."""

    gamma: float = Field(0.5, ge=0, le=1, description="Discount of the step returns.")
    episode: Literal["return", "row"] = Field("return", description="The compared quantity of the episode term.")
    episode_weight: float = Field(1.0, ge=0, description="Of the episode term.")
    step_weight: float = Field(1.0, ge=0, description="Of the step term.")
    normalize: Literal["none", "std"] = Field(
        "std", description="Divide both terms by their group's standard deviation, or not."
    )
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: UIS1Config) -> Floats:
    """Return one advantage per row, float64 [N]."""
    match = (table.channel(_MATCH) > 0.5).astype(np.float64)
    step_return = discounted(table, table.reward, config.gamma * match * following(table, match))
    segment = segments(table.group, keys.turn(table))
    step = centered(step_return, segment, scale=config.normalize, epsilon=config.epsilon)
    if config.episode == "return":
        episode = episode_term(table, config.normalize, config.epsilon)
    else:
        episode = centered(table.reward, table.group, scale=config.normalize, epsilon=config.epsilon)
    return config.episode_weight * episode + config.step_weight * step


CREDIT = Credit(UIS1Config, from_function(compute), needs=("channels",), channels=lambda _: (_MATCH,))
