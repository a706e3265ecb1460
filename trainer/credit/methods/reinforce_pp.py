"""REINFORCE++: returns-to-go, centred and scaled over all tokens of the batch; no groups.

::

    R_t = r_t + gamma R_{t+1}                                         within an episode
    A_t = (R_t - mean) / sqrt(var + epsilon)
    mean = sum w R / sum w        var = sum w (R - mean)^2 / (sum w - 1)

w: tokens of the step's reply, `length`, whether it is trained on or not; a step of length 0 does not count and has
advantage 0. Averaging unit: tokens of the batch, so that long replies have more influence on the mean. Divisor: ddof 1;
epsilon inside the root. Groups do not matter. Fewer than two tokens, or no spread over the batch: 0. One episode alone
is centred on its own returns.
The KL penalty of the method is part of its reward or loss, not of this file.
Source: 2501.03262; whitening and constants as in verl. Departures: gamma discounts per step, where verl's discounts per
token; observations between steps do not cut the return; fewer than two tokens do not raise an error; a step of length
0, whose advantage would be unbounded, gets 0.
"""

from __future__ import annotations

from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import returns
from cairn.trainer.credit.kernel.tokens import whitened


class ReinforcePPConfig(Config):
    """Settings of REINFORCE++."""

    gamma: float = Field(1.0, ge=0, le=1, description="Discount of a step.")
    epsilon: float = Field(1e-8, gt=0, description="Added to the variance.")


def compute(table: StepTable, config: ReinforcePPConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    return whitened(table, returns(table, table.reward, config.gamma), config.epsilon)


CREDIT = Credit(
    ReinforcePPConfig,
    from_function(compute),
    needs=("length",),
    violates={
        "scoped": "mean and variance are those of the whole batch",
        "no spread": "returns of different turns differ, and nothing sets them apart",
        "lone": "returns of different turns differ, and nothing sets them apart",
    },
)
