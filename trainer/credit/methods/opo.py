"""OPO: each episode's reward minus the group's mean reward weighted by length.

::

    A_i = r_i - sum_j len_j r_j / sum_j len_j

r_i: sum of episode i's rewards; every step of the episode gets A_i. len_i: tokens of all replies of the episode,
trained on or not; a step of length 0 does not count. Averaging unit: tokens of the group. Divisor: none. Group of one:
0. No spread: 0. A group without any token: each episode counts once.
Source: 2505.23585; as in verl. Departures: none for one-step episodes; with several steps lengths are summed.
"""

from __future__ import annotations

import numpy as np

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered


class OPOConfig(Config):
    """Settings of OPO (none)."""


def compute(table: StepTable, config: OPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    assert table.length is not None  # `needs`
    group = table.group[table.first_rows]
    tokens = np.bincount(table.episode, table.length).astype(np.float64)
    tokens = np.where(np.bincount(group, tokens)[group] > 0, tokens, 1.0)
    return centered(scores(table), group, weight=tokens)[table.episode]


CREDIT = Credit(OPOConfig, from_function(compute), needs=("length",))
