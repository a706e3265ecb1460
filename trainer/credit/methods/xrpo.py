"""XRPO's sharpening: GRPO plus a bonus for successes that were unlikely within their group.

::

    a_i = (r_i - mean_g) / (std_g + epsilon)        s_i = mean logprob of episode i        eta_i = exp(s_i - mean_g s)
    A_i = a_i + min(max(novelty (1 - eta_i), 0), cap a_i) where a_i > 0, else a_i

r_i: sum of episode i's rewards; every step of the episode gets A_i. s_i: over the tokens of all the episode's replies
together; its mean: over episodes of the group, each once. Divisor: std with ddof 1, or none (`normalize = "none"`).
Group of one: 0. No spread of rewards: 0, and so no bonus. s_i - mean is clipped to [-20, 20]. Not implemented: the
method's allocation of rollouts and its worked examples, which belong to the sampler.
Source: 2510.06672, from secondary notes. Departures: none known. `applies_to = "all"` caps with |a_i| and so also gives
failures a bonus, as in third-party code.
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
from cairn.trainer.credit.kernel.tokens import mean_logprobs


class XRPOConfig(Config):
    """Settings of XRPO's sharpening."""

    novelty: float = Field(2.5, ge=0, description="Bonus of an episode that is infinitely unlikelier than its group.")
    cap: float = Field(0.5, ge=0, description="Greatest bonus, as a share of the advantage.")
    applies_to: Literal["positives", "all"] = Field("positives", description="Which advantages may have a bonus.")
    normalize: Literal["none", "std"] = Field("std", description="Divide by the group's standard deviation, or not.")
    epsilon: float = Field(1e-6, gt=0, description="Added to the standard deviation.")


def compute(table: StepTable, config: XRPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    group = table.group[table.first_rows]
    advantage = centered(scores(table), group, scale=config.normalize, epsilon=config.epsilon)
    eta = np.exp(np.clip(centered(mean_logprobs(table), group), -20.0, 20.0))
    bonus = np.minimum(np.maximum(config.novelty * (1 - eta), 0.0), config.cap * np.abs(advantage))
    if config.applies_to == "positives":
        bonus = np.where(advantage > 0, bonus, 0.0)
    return (advantage + bonus)[table.episode]


CREDIT = Credit(XRPOConfig, from_function(compute), needs=("length", "logprob"))
