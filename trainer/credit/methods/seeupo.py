"""SeeUPO: outcomes scaled per turn, times the policy change of the episode's later turns.

::

    a_{i,t} = score_i - mean_g                      every step of the episode
    z_{i,t} = (a - mean) / std over all rows of turn t in the batch; a - mean where std is at most 1e-6
    A_{i,t} = clip(z_{i,t}, -limit, limit) M_{i,t}
    M_{i,t} = clip(M_{i,t+1} clip(s_{i,t+1}, 1 - low, 1 + high), 1 - low, 1 + high)        M of the last turn: 1

s: the channel named by `channel`, exp(mean over the reply's tokens of logprob after - before) of the update of that
turn: turns are updated last first, so a row's M is known when its turn is updated. A turn that is not updated yet has s
= 1. Averaging units: episodes, each once, in mean_g; rows of a turn in mean and std, with ddof 1. Degenerate cases: no
spread, a group of one, and a turn that only one episode of the batch has: 0.
Source: AgentEvolver, branch `seeupo`. Departures: none in the advantage. Not implemented: the order of updates, and its
loss (a clipped ratio per sequence), which belong to the learner.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.family import episode_term
from cairn.trainer.credit.kernel.returns import rows_by_turn
from cairn.trainer.credit.kernel.segments import centered

_LEAST_STD = 1e-6  # threshold for the scaling of a turn


class SeeUPOConfig(Config):
    """Settings of SeeUPO."""

    channel: str = Field("change", description="Channel that holds s, the probability ratio of the turn's update.")
    clip_low: float = Field(0.2, ge=0, lt=1, description="How far s and M may fall below 1.")
    clip_high: float = Field(0.2, ge=0, description="How far s and M may rise above 1.")
    limit: float = Field(3.0, gt=0, description="Largest size of a scaled advantage, before M.")


def compute(table: StepTable, config: SeeUPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    centred = centered(episode_term(table, "none"), table.turn)
    std = np.sqrt(np.bincount(table.turn, centred**2) / np.maximum(np.bincount(table.turn) - 1, 1))[table.turn]
    scaled = np.where(std > _LEAST_STD, centred / np.maximum(std, _LEAST_STD), centred)
    return np.clip(scaled, -config.limit, config.limit) * _moved(table, config)


def _moved(table: StepTable, config: SeeUPOConfig) -> Floats:
    """Return M, the accumulated policy change at the later turns of the episode, [N]."""
    low, high = 1.0 - config.clip_low, 1.0 + config.clip_high
    change = np.clip(table.channel(config.channel), low, high)
    out = np.ones(len(table))
    for rows in reversed(rows_by_turn(table.turn)[1:]):
        out[rows - 1] = np.clip(out[rows] * change[rows], low, high)
    return out


CREDIT = Credit(
    SeeUPOConfig,
    from_function(compute),
    needs=("channels",),
    channels=lambda config: (config.channel,),
    violates={"scoped": "a turn's mean and deviation are over the batch"},
)
