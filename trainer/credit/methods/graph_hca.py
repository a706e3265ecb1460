"""GraphHCA: credits a step with the gain in the log value of its state in the graph.

::

    V(s) = mean over steps at s of gamma V(x)      for all s at once; V(success) = 1, V(failure) = 0
    Phi  = log max(V, floor)
    A    = episode_weight A^E + step_weight norm(Phi(x) - Phi(s); state)
    norm(x) = (x - mean) / (std + epsilon), with ddof 0; x: the state the step led to

A^E: GRPO's advantage, std with ddof 1. Averaging units: steps at a state, and in A^E episodes. A state seen once, or
without spread: step term 0; so all step terms are 0 in a group without success. A group of one episode: A^E = 0.
Successes are those of `table.success`. Before the norm, a step into failure has about ten times the size of a step into
success, because of the logarithm.
Source: 2609.35084, from a third party's kernel. Missing there, so our choice: whether and how A^E is added, epsilon,
and the successor of a timeout (failure; or "open", the state in which the episode stopped). V is rounded to 12 digits,
so that rounding errors are not normalised to differences.
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
from cairn.trainer.credit.kernel.values import fixed_point, next_values, success_rewards


class GraphHCAConfig(Config):
    """Settings of GraphHCA."""

    gamma: float = Field(0.95, gt=0, le=1, description="Discount of a step.")
    floor: float = Field(0.01, gt=0, le=1, description="Least value that has a logarithm of its own.")
    timeout: Literal["failure", "open"] = Field(
        "failure", description="The final state of an episode that a budget cut."
    )
    normalize: Literal["none", "centre", "std"] = Field(
        "std", description="Take the state's mean off and divide by its std; take the mean off; or neither (none)."
    )
    step_weight: float = Field(1.0, ge=0, description="Of the step term.")
    episode_weight: float = Field(1.0, ge=0, description="Of the episode term.")
    epsilon: float = Field(1e-8, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: GraphHCAConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    ended = success_rewards(table)
    graph = build_graph(ended, table.anchor, table.next_anchor, config.timeout)
    value = np.round(fixed_point(ended, graph, config.gamma), 12)
    after, before = next_values(ended, graph, value), value[graph.tail]
    gain = np.log(np.maximum(after, config.floor)) - np.log(np.maximum(before, config.floor))
    if config.normalize != "none":
        gain = centered(
            gain, graph.tail, scale="std" if config.normalize == "std" else "none", epsilon=config.epsilon, ddof=0
        )
    return config.episode_weight * episode_term(table, "std") + config.step_weight * gain


CREDIT = Credit(
    GraphHCAConfig,
    from_function(compute),
    assumes=("a terminal reward",),
    violates={"shift": "which episodes succeed follows from their scores"},
)
