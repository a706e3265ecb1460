"""TRLOO: a turn's return-to-go minus the mean of the task's other episodes at that turn.

::

    G_{i,t} = sum_{u >= t} gamma^(u - t) r_{i,u}
    A_{i,t} = G_{i,t} - mean over the others at turn t of G_{j,t} = n_t / (n_t - 1) (G_{i,t} - mean_t)

n_t: episodes of the group that have a turn t, so the comparison has fewer members as episodes end. Averaging unit:
steps of one turn. No divisor. Degenerate cases: a turn that only one episode has: 0, or G itself (`singleton = "raw"`);
equal returns: 0. One turn: RLOO.
Source: Dr. Kernel (2602.05885), constants as in hkust-nlp/KernelGYM. Departures: a turn of only one episode gives 0,
where the code gives G. Not implemented: mismatch rejection, profiling rewards and their rejection sampling, which act
on samples and rewards.
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
from cairn.trainer.credit.kernel.returns import returns
from cairn.trainer.credit.kernel.segments import centered, segments


class TRLOOConfig(Config):
    """Settings of TRLOO."""

    gamma: float = Field(1.0, ge=0, le=1, description="Discount of the returns.")
    singleton: Literal["raw", "zero"] = Field(
        "zero", description="Advantage of a turn that no other episode of the group has: its return, or 0."
    )


def compute(table: StepTable, config: TRLOOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    step_return = returns(table, table.reward, config.gamma)
    segment = segments(table.group, keys.turn(table))
    advantage = centered(step_return, segment, baseline="loo")
    if config.singleton == "zero":
        return advantage
    return np.where(np.bincount(segment)[segment] == 1, step_return, advantage)


CREDIT = Credit(TRLOOConfig, from_function(compute))
