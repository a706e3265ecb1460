"""GraphGPO: rewards each step by the distance of its next state to a success.

All episodes of the group count for the distance.

::

    d(s) = fewest recorded steps from s to a success; d(success) = 0; none leads there: the group's largest d, plus 1
    R    = scale w^d(x)        or scale w^(d(x) - d(s) + 1) with `relative_distance`; x: the state the step led to
    A    = episode_weight A^E + step_weight (R - mean) / (std + epsilon)

A^E: the episode term of GiGPO, by default averaged over steps, as in the source. std with ddof 1. Averaging unit of the
step term: the steps at a state. A state seen once, or with equal distances after all steps: step term 0; so all step
terms are 0 in a group without success. If all episodes succeed, shorter distances still score higher. With two
distances at a state, the division by std cancels w. Successes are those of `table.success`, independent of their
rewards. A timeout leads to the state in which the episode stopped ("open", the source) or to a failure.
Source: 2605.26684; the authors' recipe in verl-agent. Departures: relaxation computes the distances of all groups at
once, where the authors search each graph from its successes; the numbers are the same.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.graph import Graph, build_graph
from cairn.trainer.credit.kernel.segments import centered
from cairn.trainer.credit.kernel.values import distances
from cairn.trainer.credit.methods import gigpo


class GraphGPOConfig(Config):
    """Settings of GraphGPO."""

    w: float = Field(0.1, gt=0, lt=1, description="Factor of the reward for each step further from success.")
    scale: float = Field(10.0, gt=0, description="Reward of a step that succeeds.")
    relative_distance: bool = Field(False, description="Count distances from the state that the step was taken in.")
    timeout: Literal["open", "failure"] = Field("open", description="The final state of an episode that a budget cut.")
    normalize: Literal["none", "std"] = Field("std", description="Divide both terms by their std, or not.")
    averaging: Literal["step", "episode"] = Field("step", description="Unit of the episode term's mean and deviation.")
    invalid_penalty: float = Field(
        0.1, ge=0, description="Taken off the episode term's score where a reply is invalid."
    )
    step_weight: float = Field(1.0, ge=0, description="Of the step term.")
    episode_weight: float = Field(1.0, ge=0, description="Of the episode term.")
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: GraphGPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    graph = build_graph(table, table.anchor, table.next_anchor, config.timeout)
    before, after = hops(graph)
    nearness = config.scale * config.w ** (after - before + 1 if config.relative_distance else after)
    step_term = centered(nearness, graph.tail, scale=config.normalize, epsilon=config.epsilon)
    episode_term = gigpo.compute(
        table,
        gigpo.GiGPOConfig(
            weight=0.0,
            normalize=config.normalize,
            averaging=config.averaging,
            invalid_penalty=config.invalid_penalty,
            epsilon=config.epsilon,
        ),
    )
    return config.episode_weight * episode_term + config.step_weight * step_term


def hops(graph: Graph) -> tuple[Floats, Floats]:
    """Return each step's distance to success before and after it, [N] each.

    Unreachable: the group's largest distance plus 1.
    """
    distance = distances(graph)[:-1]
    far = np.zeros(int(graph.group_of_node.max()) + 1)
    np.maximum.at(far, graph.group_of_node, np.where(np.isfinite(distance), distance, 0.0))
    far = far[graph.group_of_node] + 1.0
    distance = np.minimum(distance, far)
    after = np.where(graph.ends, far[graph.tail], np.append(distance, 0.0)[graph.head])
    return distance[graph.tail], np.where(graph.is_win, 0.0, after)


CREDIT = Credit(
    GraphGPOConfig,
    from_function(compute),
    assumes=("a terminal reward",),
    violates={"shift": "which episodes succeed follows from their scores"},
)
