"""EGAE: GAE for unfinished episodes; a cut episode ends in a state with its last value.

::

    delta_t = r_t + gamma V_{t+1} - V_t
    A_t     = delta_t + gamma lambda A_{t+1}        0 after the end
    after the last turn: V = V of that turn if a budget or a window cut the episode, else 0

V_t: the table's `value`; `final_value` is not read. No averaging and no divisor. Degenerate cases: the last turn of a
cut episode without reward has delta (gamma - 1) V, which is 0 at gamma 1; a finished episode gets GAE.
Source: T-PPO (2506.15050). Departures: turns instead of tokens; the rewards of a cut episode are kept. Not implemented:
the windows, and training the critic on finished episodes only. The sources do not give `lam`.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import gae


class EGAEConfig(Config):
    """Settings of EGAE."""

    gamma: float = Field(1.0, ge=0, le=1, description="Discount of a turn.")
    lam: float = Field(0.95, ge=0, le=1, description="Lambda: 0 trusts the values, 1 the rewards.")


def compute(table: StepTable, config: EGAEConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    assert table.value is not None  # `needs`
    return gae(table, table.value, np.where(table.truncated, table.value, 0.0), config.gamma, config.lam)


_ABSOLUTE = "it compares an outcome with `value`, not with the outcomes of other episodes"
CREDIT = Credit(
    EGAEConfig,
    from_function(compute),
    needs=("value",),
    violates={"no spread": _ABSOLUTE, "lone": _ABSOLUTE, "shift": _ABSOLUTE, "better": _ABSOLUTE},
)
