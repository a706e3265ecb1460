"""NGRPO: GRPO with a virtual perfect episode in each group, which penalises failed groups.

::

    A_i = (r_i - mean) / (std + epsilon)        mean, std (ddof 1) over {r_1, ..., r_n, best}

r_i: sum of episode i's rewards; every step of the episode gets A_i. Averaging unit: episodes of the group and the
virtual one, each once. Group of one: no virtual episode, 0. All perfect: 0. All equal and worse: negative. The method's
clip, 0.16 below and 0.24 above, is a setting of the loss; a filter may drop perfect groups but must keep failed ones.
Source: 2509.18851, nangongrui-ngr/NGRPO. Departures: a group of one gives 0, where the code gives its reward.
"""

from __future__ import annotations

from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import centered


class NGRPOConfig(Config):
    """Settings of NGRPO."""

    best: float = Field(1.0, allow_inf_nan=False, description="Reward of the imagined episode: the greatest there is.")
    epsilon: float = Field(1e-6, gt=0, description="Added to the standard deviation.")


def compute(table: StepTable, config: NGRPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    group = table.group[table.first_rows]
    advantage = centered(scores(table), group, scale="std", epsilon=config.epsilon, virtual=config.best)
    return advantage[table.episode]


CREDIT = Credit(
    NGRPOConfig,
    from_function(compute),
    violates={
        "no spread": "equal episodes are below the imagined perfect one",
        "shift": "the imagined reward stays where it was",
    },
)
