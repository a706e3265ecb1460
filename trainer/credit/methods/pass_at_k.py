"""Pass@k: only the group's best episode has an advantage, its lead over the second best.

::

    A_best = (r_best - r_second) / (std_g + epsilon)        all others: 0

r: sum of an episode's rewards; every step of the best episode gets A_best. std_g: ddof 1, over episodes of the group,
each once; or no division (`normalize = "none"`). Group of one: 0. A tie for the best, no spread: 0.
Source: 2503.19595; as in verl. Departures: a group of one gives 0, where verl raises an error.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered


class PassAtKConfig(Config):
    """Settings of Pass@k."""

    normalize: Literal["none", "std"] = Field("std", description="Divide by the group's standard deviation, or not.")
    epsilon: float = Field(1e-6, gt=0, description="Added to the standard deviation.")


def compute(table: StepTable, config: PassAtKConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    group = table.group[table.first_rows]
    distance = centered(scores(table), group, scale=config.normalize, epsilon=config.epsilon)
    order = np.lexsort((distance, group))
    end = np.cumsum(np.bincount(group))
    best = order[end - 1]
    second = np.where(np.bincount(group) > 1, order[end - 2], best)
    advantage = np.zeros(len(distance))
    advantage[best] = distance[best] - distance[second]
    return advantage[table.episode]


CREDIT = Credit(
    PassAtKConfig,
    from_function(compute),
    violates={"better": "only the best episode has an advantage; the others have 0"},
)
