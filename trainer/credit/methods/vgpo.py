"""VGPO: a turn's return relative to its group at that turn, plus a share of the return.

::

    Q_{i,t} = sum_{u >= t} gamma^(u - t) r_{i,u}        r: what the state would be worth if the episode ended there
    w_{i,t} = Q_{i,t} / mean over the episode's turns of Q_{i,.}          1 where that mean is below 1e-6 in size
              kept within [-T_i, T_i]
    A_{i,t} = w_{i,t} ((Q_{i,t} - mean_t) / (std_t + epsilon) + k Q_{i,t})

T_i: the episode's number of turns. mean_t, std_t: over the group's steps at turn t, ddof 1. Averaging units: steps of
one turn; for w, the episode's own steps. Degenerate cases: a turn without spread: w k Q, the purpose of the method; a
turn that only one episode has: 0.
Source: 2512.12387, known from reviews: the positions of k and w are uncertain, and `k` and `gamma` are placeholders.
Departures: the published formula is w ((Q - mean) + alpha Q) / (std + epsilon) with alpha = k std; this is its limit
for epsilon to 0, so that exactly equal returns keep k Q too. Rewards should not be negative: w changes sign with them.
The limits of w are our addition: nonnegative returns never exceed them; other returns may have a mean of nearly 0.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel import keys
from cairn.trainer.credit.kernel.returns import returns
from cairn.trainer.credit.kernel.segments import centered, means, segments


class VGPOConfig(Config):
    """Settings of VGPO."""

    gamma: float = Field(0.95, ge=0, le=1, description="Discount of the returns; a placeholder.")
    k: float = Field(0.5, ge=0, description="Share of the return itself; a placeholder.")
    absolute_turns: int | None = Field(None, ge=0, description="Turns that get this share, from the first; none: all.")
    epsilon: float = Field(1e-8, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: VGPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    q = returns(table, table.reward, config.gamma)
    mean = means(q, table.episode)[table.episode]
    is_small = np.abs(mean) < 1e-6
    turns = np.bincount(table.episode)[table.episode]
    weight = np.where(is_small, 1.0, np.clip(q / np.where(is_small, 1.0, mean), -turns, turns))
    segment = segments(table.group, keys.turn(table))
    share = config.k if config.absolute_turns is None else config.k * (table.turn < config.absolute_turns)
    advantage = weight * (centered(q, segment, scale="std", epsilon=config.epsilon) + share * q)
    return np.where(np.bincount(segment)[segment] == 1, 0.0, advantage)


_ABSOLUTE = "a share of the return itself stays, also where all returns are equal"
CREDIT = Credit(VGPOConfig, from_function(compute), violates={"no spread": _ABSOLUTE, "shift": _ABSOLUTE})
