"""REINFORCE++-baseline: rewards minus the group's mean, whitened over the batch's tokens.

::

    a_i = r_i - mean_g
    A_i = (a_i - mean) / sqrt(var + epsilon)
    mean = sum w a / sum w        var = sum w (a - mean)^2 / (sum w - 1)        over the steps of the batch

r_i: sum of episode i's rewards; every step of the episode gets A_i. w: tokens of the step's reply, `length`, whether it
is trained on or not; a step of length 0 does not count and has advantage 0. Averaging units: episodes of the group,
each once; then tokens of the batch. Divisor: ddof 1; epsilon inside the root. Group of one: a = 0, then shifted by the
batch's mean like all others. No spread in the batch: 0.
Source: 2501.03262; whitening and constants as in verl. Departures: fewer than two tokens give 0 without an error; a
step of length 0, whose advantage would be unbounded, gets 0.
"""

from __future__ import annotations

from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered
from cairn.trainer.credit.kernel.tokens import whitened


class ReinforcePPBaselineConfig(Config):
    """Settings of REINFORCE++-baseline."""

    epsilon: float = Field(1e-8, gt=0, description="Added to the variance.")


def compute(table: StepTable, config: ReinforcePPBaselineConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    centred = centered(scores(table), table.group[table.first_rows])
    return whitened(table, centred[table.episode], config.epsilon)


CREDIT = Credit(
    ReinforcePPBaselineConfig,
    from_function(compute),
    needs=("length",),
    violates={"scoped": "the second mean and the variance are those of the whole batch"},
)
