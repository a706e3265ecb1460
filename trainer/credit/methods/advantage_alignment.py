"""Advantage Alignment: own advantage plus the other agent's, weighted by past advantages.

::

    R^a_{i,u} = sum_{v >= u} gamma^(v - u) r^a_{i,v}                 agent a's own rewards, over its own turns u
    A^a_{i,u} = R^a_{i,u} - mean over the group's other episodes of R^a_{j,u}
    w^a_{i,u} = sum_{k < u} gamma^(u - k) A^a_{i,k}
    out       = A^a_{i,u} + beta w^a_{i,u} A^b_{i,u}

Agents are the values of `role`; a row's reward belongs to the agent that acted. An agent's turns are numbered 0, 1, ...
within the episode, so two rows form a pair if they have the same episode and own turn: in a game of simultaneous moves,
the same round. Averaging unit: rows of one agent and one own turn. No divisor. Degenerate cases: a row without a pair,
an agent's first turn, and an episode of one agent: A^a alone; an own turn that only one episode has: A is 0.
Source: 2406.14662 and 2511.19405; dereckpiche/AdAlignLLM. That code discounts w once more; the default is the formula
above, and `extra_discount` follows the code. Departures: with more than two agents, A^b is the sum over the others. Not
implemented: the variants by sign, clipping and turn. Do not use this pairing for agents whose own turns are not
simultaneous.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import rows_by_turn
from cairn.trainer.credit.kernel.segments import centered, segments


class AdvantageAlignmentConfig(Config):
    """Settings of Advantage Alignment."""

    beta: float = Field(1.0, ge=0, description="Weight of the other agent's advantage.")
    gamma: float = Field(0.9, ge=0, le=1, description="Discount of one own turn.")
    extra_discount: bool = Field(False, description="Discount w by one turn more.")


def compute(table: StepTable, config: AdvantageAlignmentConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    assert table.role is not None  # `needs`
    order = np.lexsort((table.turn, table.role, table.episode))  # consecutive rows of one agent in one episode
    agent = segments(table.episode, table.role)[order]
    own = np.arange(len(agent)) - np.searchsorted(agent, agent)
    later = rows_by_turn(own)[1:]
    total = table.reward[order]
    for rows in reversed(later):
        total[rows - 1] += config.gamma * total[rows]
    key = own.astype(np.uint64)
    mine = centered(total, segments(segments(table.group, table.role)[order], key), baseline="loo")
    so_far = np.zeros(len(mine))
    for rows in later:
        so_far[rows] = config.gamma * (so_far[rows - 1] + mine[rows - 1])
    if config.extra_discount:
        so_far *= config.gamma
    pair = segments(table.episode[order], key)
    others = np.bincount(pair, mine)[pair] - mine
    out = np.empty(len(mine))
    out[order] = mine + config.beta * so_far * others
    return out


CREDIT = Credit(AdvantageAlignmentConfig, from_function(compute), needs=("role",))
