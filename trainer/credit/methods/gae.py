"""GAE: generalised advantage estimation over turns, with a value before each turn.

::

    delta_t = r_t + gamma V_{t+1} - V_t
    A_t     = delta_t + gamma lambda A_{t+1}        0 after the end
    whiten: (A - mean) / sqrt(var + 1e-8)           over all trained rows of the table, var with ddof 1

V_t: the table's `value`. After an episode's last turn V is 0 if the episode terminated. If a budget cut it, V is
`final_value`, or 0 without that column. Averaging unit: none, or rows of the batch if `whiten`. Degenerate cases:
lambda 1: the return minus V_t; one trained row whitens to 0.
Source: 1506.02438; used by PPO as in verl. Departures: turns instead of tokens; a truncated episode is bootstrapped,
where verl takes 0 (omit `final_value` for that); whitening is off, where verl whitens over tokens.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Flags, Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel import returns


class GAEConfig(Config):
    """Settings of GAE."""

    gamma: float = Field(1.0, ge=0, le=1, description="Discount of a turn.")
    lam: float = Field(0.95, ge=0, le=1, description="Lambda: 0 trusts the values, 1 the rewards.")
    whiten: bool = Field(False, description="Centre and scale over all trained rows of the batch.")


def compute(table: StepTable, config: GAEConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    assert table.value is not None  # `needs`
    final = 0.0 if table.final_value is None else np.where(table.truncated, table.final_value, 0.0)
    advantage = returns.gae(table, table.value, final, config.gamma, config.lam)
    return _whitened(advantage, table.trained) if config.whiten else advantage


def _whitened(x: Floats, trained: Flags) -> Floats:
    count = int(trained.sum())
    if not count:
        return np.zeros_like(x)
    centred = x - x[trained].mean()
    out: Floats = centred / np.sqrt((centred[trained] ** 2).sum() / max(count - 1, 1) + 1e-8)
    return out


_ABSOLUTE = "it compares an outcome with `value`, not with the outcomes of other episodes"
CREDIT = Credit(
    GAEConfig,
    from_function(compute),
    needs=("value",),
    violates={"no spread": _ABSOLUTE, "lone": _ABSOLUTE, "shift": _ABSOLUTE, "better": _ABSOLUTE},
)
