"""GPG: rewards minus the group's mean, times the batch's episodes per episode with a reward.

::

    A_i = B / m (r_i - mean_g)

r_i: sum of episode i's rewards; every step of the episode gets A_i. B: episodes of the batch; m: those whose r is not
0, at least 1. Averaging unit: episodes of the group, each once. Divisor: none but m / B. Group of one: 0. No spread: 0.
Source: 2504.02546; as in verl. Departures: none.
"""

from __future__ import annotations

import numpy as np

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered


class GPGConfig(Config):
    """Settings of GPG (none)."""


def compute(table: StepTable, config: GPGConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    score = scores(table)
    factor = len(score) / max(int(np.count_nonzero(score)), 1)
    return (factor * centered(score, table.group[table.first_rows]))[table.episode]


CREDIT = Credit(
    GPGConfig,
    from_function(compute),
    violates={
        "scoped": "the factor counts episodes of the whole batch",
        "shift": "the factor counts rewards that are not 0",
    },
)
