"""R3L: the score above the group's baseline, with positive values amplified.

Steps before the pivot are not trained on.

::

    b_g = mean of r  (`baseline = "mean"`), or  tau (logsumexp(r / tau) - log n)  ("soft")
    A_i = 1              if r_i >= full_score
          amplify (r_i - b_g)   else if r_i >= b_g
          r_i - b_g             else

r: the episode's score. Averaging unit: episodes, each once. No divisor. Degenerate cases: a group of one has the
baseline 0, so A is r with the rules above (`singleton = "zero"`: 0); equal scores below `full_score`: 0; scores of
`full_score` or more: 1, independent of the other scores.
The pivot mask is the table's `trained` column: set it to False for the steps of the base episode and of its retry
before the pivot, and `advantages` returns 0 for them. The mask does not affect the statistics, which are those of whole
episodes.
Source: 2601.03715 and shiweijiezero/R3L. The abstract amplifies all positives, and the code sets those of full score to
1. The default follows the code; `full_score = None` follows the abstract. Not implemented: the loss (OPMD), the
reflection and the retries.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, Ids, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered


class R3LConfig(Config):
    """Settings of R3L."""

    baseline: Literal["mean", "soft"] = Field("mean", description="The baseline of a score.")
    tau: float = Field(1.0, gt=0, description="Temperature of the soft baseline.")
    amplify: float = Field(3.0, ge=1, description="Factor of advantages from 0 up.")
    full_score: float | None = Field(1.0, description="Score from which on an advantage is 1; none: no such rule.")
    singleton: Literal["raw", "zero"] = Field("raw", description="A group of one: baseline 0, or advantage 0.")


def compute(table: StepTable, config: R3LConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    score, group = scores(table), table.group[table.first_rows]
    above = centered(score, group) if config.baseline == "mean" else score - _soft(score, group, config.tau)
    is_alone = np.bincount(group)[group] == 1
    above = np.where(is_alone, score, above)
    advantage = np.where(above >= 0, config.amplify * above, above)
    if config.full_score is not None:
        advantage = np.where(score >= config.full_score, 1.0, advantage)
    if config.singleton == "zero":
        advantage = np.where(is_alone, 0.0, advantage)
    return advantage[table.episode]


def _soft(score: Floats, group: Ids, tau: float) -> Floats:
    """Return the soft mean of each row's group.

    It lies between the mean (tau large) and the maximum (tau small).
    """
    top = np.full(int(group.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(top, group, score)
    mean = np.bincount(group, np.exp((score - top[group]) / tau)) / np.bincount(group)
    out: Floats = (top + tau * np.log(mean))[group]
    return out


_FULL = "a score of `full_score` has advantage 1 for any scores of the others"
CREDIT = Credit(
    R3LConfig,
    from_function(compute),
    needs_in_training=("trained",),
    violates={"no spread": _FULL, "lone": "a group of one is compared with 0", "shift": _FULL},
)
