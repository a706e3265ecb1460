"""Any combination of the graph family's slots: key, backup, credit, normaliser and more.

::

    A = episode_weight norm(score; group) + step_weight step_term

The slots are those of `kernel.family`; the published members are separate methods (`crbc`, `graft`, `rewardflow`, ...)
whose files document their choices. Averaging units: episodes in the first term, steps in the second. Degenerate cases:
those of the slots; a group of one episode has no episode term. Source: the file of each published member; the
combination is our own.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.family import Slots, episode_term, step_term


class GraphConfig(Slots):
    """Settings of a graph estimator."""

    step_weight: float = Field(1.0, ge=0, description="Of the step term.")
    episode_weight: float = Field(0.0, ge=0, description="Of the episode term.")
    episode_normalize: Literal["none", "std"] = Field(
        "none", description="Divide the episode term by its group's standard deviation, or not."
    )


def compute(table: StepTable, config: GraphConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    step = config.step_weight * step_term(table, config)
    return step + config.episode_weight * episode_term(table, config.episode_normalize)


CREDIT = Credit(GraphConfig, from_function(compute))
