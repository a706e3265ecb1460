"""SPO-chain: the change of the estimated value over a segment, from probed completions.

::

    A_{i,t} = V_{t+1} - V_t        V_{T} = the episode's score, 0 if a budget cut it

Each row is one segment; the table's `value` holds V_t, the mean reward of fresh completions from its start. No
averaging and no divisor: `value` already holds the mean over completions. The advantages of an episode add up to its
last value minus its first. Degenerate cases: an episode of one segment: its score minus V_0.
Source: 2505.23564 and AIFrameResearch/SPO. Departures: none in the advantage. Not implemented: the choice of cut
points, the probes, the mask of tokens with high probability, and tokens before the first cut (set `trained` to False
for such a row). Do not normalise the result over groups.
"""

from __future__ import annotations

import numpy as np

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import following, scores


class SPOChainConfig(Config):
    """Settings of SPO-chain (none: all options concern the probing of values)."""


def compute(table: StepTable, config: SPOChainConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    assert table.value is not None  # `needs`
    final = np.where(table.truncated, 0.0, scores(table)[table.episode])
    return following(table, table.value, final) - table.value


_ABSOLUTE = "it compares an outcome with `value`, not with the outcomes of other episodes"
CREDIT = Credit(
    SPOChainConfig,
    from_function(compute),
    needs=("value",),
    violates={"no spread": _ABSOLUTE, "lone": _ABSOLUTE, "shift": _ABSOLUTE, "better": _ABSOLUTE},
)
