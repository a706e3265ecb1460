"""ReMax: the return-to-go minus the reward of the greedy episode of the same task.

::

    A_t = sum_{u >= t} r_u - b_g

b_g: reward of the group's greedy episode, from the table's column `value`, the same in all rows of a group. Averaging
unit: none; usually one episode per group. Divisor: none. No discount. A reward equal to the greedy one: 0. The greedy
episode is sampled separately and is not in the table. KL belongs to the reward or the loss.
Source: 2310.10505; as in verl. Departures: returns are per step; this equals returns per token if a reply earns its
reward at its end.
"""

from __future__ import annotations

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import returns


class ReMaxConfig(Config):
    """Settings of ReMax (none)."""


def compute(table: StepTable, config: ReMaxConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    assert table.value is not None  # `needs`
    return returns(table, table.reward, gamma=1.0) - table.value


CREDIT = Credit(
    ReMaxConfig,
    from_function(compute),
    needs=("value",),
    violates={
        "no spread": "the baseline is the greedy episode, not the group",
        "lone": "the baseline is the greedy episode, not the group",
        "shift": "the greedy reward stays where it was",
        "better": "both may be above the greedy episode, or below it",
    },
)
