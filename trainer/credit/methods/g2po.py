"""G2PO: compares next states' values at one state, and value gains within the group.

::

    V(s)   = mean over visits to s of gamma^(steps left) r_i    the last step has 1 left; V(success) = r, V(failure) = 0
    first  = norm(V(x) - penalty [invalid]; state)              x: the state the step led to
    second = norm(V(x) - V(s); group)
    A      = episode_weight A^E + step_weight (first + second)
    norm(x) = x - mean, or (x - mean) / (std + epsilon)

r_i: `success_reward` for an episode of `table.success`, else 0: the source recognises a success by a reward of exactly
10. std with ddof 1. Averaging units: steps at a state, steps of a group, and in A^E episodes. A state seen once, or
without spread: first part 0. The second part has no such case: if some episode succeeds, steps differ in gain, even
among equal episodes or within a single one. A group without success and without invalid replies: 0.
Source: 2606.22995 and its authors' code, where gamma is fixed; "std" is its choice for ALFWorld, "none" for WebShop.
Departures: the setting `timeout`, values rounded to 12 digits so that rounding errors are not normalised to
differences, and A^E averaged over episodes.
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
from cairn.trainer.credit.kernel.graph import build_graph
from cairn.trainer.credit.kernel.segments import centered
from cairn.trainer.credit.kernel.values import next_values, success_rewards, visit_means


class G2POConfig(Config):
    """Settings of G2PO."""

    gamma: float = Field(0.95, gt=0, le=1, description="Discount of a step.")
    success_reward: float = Field(10.0, gt=0, description="Value of a success.")
    timeout: Literal["failure", "open"] = Field(
        "failure", description="The final state of an episode that a budget cut."
    )
    normalize: Literal["none", "std"] = Field("std", description="Divide all terms by their std, or not.")
    invalid_penalty: float = Field(0.1, ge=0, description="Taken off the first part where the reply was invalid.")
    step_weight: float = Field(1.0, ge=0, description="w: of both parts of the step term.")
    episode_weight: float = Field(1.0, ge=0, description="Of the episode term.")
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: G2POConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    ended = success_rewards(table, config.success_reward)
    graph = build_graph(ended, table.anchor, table.next_anchor, config.timeout)
    value = np.round(visit_means(ended, graph, config.gamma), 12)
    landing = next_values(ended, graph, value)
    penalized = landing - config.invalid_penalty * ~table.valid
    first = centered(penalized, graph.tail, scale=config.normalize, epsilon=config.epsilon)
    gain = landing - value[graph.tail]
    second = centered(gain, table.group, scale=config.normalize, epsilon=config.epsilon)
    episode = episode_term(table, config.normalize, config.epsilon)
    return config.episode_weight * episode + config.step_weight * (first + second)


_ALIKE = "its second part compares the gains of all steps of a group, which differ within one episode"
CREDIT = Credit(
    G2POConfig,
    from_function(compute),
    assumes=("a terminal reward",),
    violates={"no spread": _ALIKE, "lone": _ALIKE, "shift": "which episodes succeed follows from their scores"},
)
