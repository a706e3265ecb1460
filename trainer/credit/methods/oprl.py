"""OPRL (iStar): GRPO between episodes, plus implicit step rewards compared within the group.

::

    A_{i,t} = norm(score_i; group) + weight norm(x_{i,t}; steps of the group)
    x       = c_{i,t} (`credit = "reward"`), or sum_{u >= t} c_{i,u} ("return")
    norm(x) = (x - mean) / (std + epsilon), or x - mean

c: the channel named by `channel`, beta times the log-ratio of the reward model to the old policy, summed over the
step's tokens. `reward` holds the outcome alone, without c. std with ddof 1. Averaging units: episodes, each once, in
the first term; step rows in the second. With `statistics = "first"` the second term's mean is that of the first row of
each episode; its deviation is the root mean square distance of all rows from that mean, ddof 1. `scale = "batch"` first
divides x by the largest |sum_{u >= t} c| of the batch + 1e-6, which makes groups depend on each other. Degenerate
cases: no spread of a term: 0; a group of one: no episode term, and its steps are compared with each other.
Source: 2509.19199 and Tongyi-ConvAI/Qwen-Character (CharacterRL-iStar). The code takes the second term's mean over
first rows only; the default is all rows. Departures: in a group of one the code compares both terms with 0. With
"first", the code also takes the deviation over first rows, which does not bound the other rows: if all first rows are
equal, the others are divided by epsilon.
Not implemented: the reward model and its loss on pairs of a success and a failure.
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
from cairn.trainer.credit.kernel.returns import returns
from cairn.trainer.credit.kernel.segments import centered


class OPRLConfig(Config):
    """Settings of OPRL."""

    channel: str = Field("implicit", description="Channel that holds the step rewards c.")
    weight: float = Field(1.0, ge=0, description="Of the step term.")
    credit: Literal["return", "reward"] = Field(
        "reward", description="The compared quantity of a step: c, or its sum to go."
    )
    statistics: Literal["all", "first"] = Field("all", description="Rows of the step term's mean.")
    scale: Literal["batch", "none"] = Field("none", description="Divide c by the batch's largest sum to go, or not.")
    normalize: Literal["none", "std"] = Field(
        "std", description="Divide both terms by their group's standard deviation, or not."
    )
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: OPRLConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    reward = table.channel(config.channel)
    to_go = returns(table, reward, 1.0)
    x = reward if config.credit == "reward" else to_go
    if config.scale == "batch":
        x = x / (np.abs(to_go).max(initial=0.0) + 1e-6)
    weight = (table.turn == 0).astype(np.float64) if config.statistics == "first" else None
    step = centered(x, table.group, weight=weight)
    if config.normalize == "std":
        squares = np.bincount(table.group, step**2) / np.maximum(np.bincount(table.group) - 1, 1)
        step = step / (np.sqrt(squares)[table.group] + config.epsilon)
    return episode_term(table, config.normalize, config.epsilon) + config.weight * step


_STEPS = "steps of one episode differ in their implicit rewards for any outcomes"
CREDIT = Credit(
    OPRLConfig,
    from_function(compute),
    needs=("channels",),
    channels=lambda config: (config.channel,),
    violates={
        "no spread": _STEPS,
        "lone": _STEPS,
        "better": "implicit rewards may rank episodes against their outcomes",
    },
)
