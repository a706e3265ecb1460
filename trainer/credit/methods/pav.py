"""PAV: an outcome term, plus each step's progress according to a prover, another policy.

::

    P(s)    = 1 - (1 - V(s))^K                  the chance that the best of K attempts from s succeeds
    A_{i,t} = outcome + alpha (P(s_{t+1}) - P(s_t))
    outcome = norm(score_i; group), with the std (`outcome = "grpo"`) or without ("dr_grpo"), or V(s_{t+1}) ("value")

V(s_t): the table's `value`, clipped to 0..1, the success rate of one attempt from the state before the step. After the
last step it is `final_value`, or without that column the episode's score, clipped to 0..1. K = 1: V is the prover's own
rate. Averaging unit: episodes in the outcome term, std with ddof 1. Degenerate cases: a group of one or without spread
has no outcome term, but its steps keep their progress. The progress of an episode adds up to P of its end minus P of
its start.
Source: 2410.08146; K, alpha and the outcome "value" as in the baseline of AIFrameResearch/SPO. Departures: values are
clipped to 0..1, not to 1e-6 from the ends, which this form does not need. Not implemented: training the prover, search.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.family import episode_term
from cairn.trainer.credit.kernel.returns import following, scores


class PAVConfig(Config):
    """Settings of PAV."""

    outcome: Literal["dr_grpo", "grpo", "value"] = Field(
        "grpo", description="The advantage that the progress is added to."
    )
    alpha: float = Field(5.0, ge=0, description="Weight of the progress.")
    attempts: int = Field(4, ge=1, description="K: attempts of which the prover has the best.")
    epsilon: float = Field(1e-6, gt=0, description="Added to the standard deviation of the outcome 'grpo'.")


def compute(table: StepTable, config: PAVConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    assert table.value is not None  # `needs`
    final = scores(table)[table.episode] if table.final_value is None else table.final_value
    before = np.clip(table.value, 0.0, 1.0)
    after = following(table, before, np.clip(final, 0.0, 1.0))
    progress = (1.0 - before) ** config.attempts - (1.0 - after) ** config.attempts
    if config.outcome == "value":
        outcome = after
    else:
        outcome = episode_term(table, "std" if config.outcome == "grpo" else "none", config.epsilon)
    return outcome + config.alpha * progress


_PROGRESS = "progress is a difference of `value`, not of the outcomes of episodes"
CREDIT = Credit(
    PAVConfig,
    from_function(compute),
    needs=("value",),
    violates={"no spread": _PROGRESS, "lone": _PROGRESS, "shift": _PROGRESS, "better": _PROGRESS},
)
