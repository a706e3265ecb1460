"""TIGPO: rewards steps by distance to success on a graph with earlier episodes of the task.

::

    d(s) = fewest recorded steps from s to a success; d(success) = 0; none leads there: the group's largest d, plus 1
    A    = episode_weight (r_i - mean_g) / (std_g + epsilon) + step_weight (R - mean_s) / (std_s + epsilon)
    R    = scale w^d(x)        x: the state the step led to

Rows of `table.past`, episodes of earlier visits to the same task under the same group, count in the graph and in the
statistics of the episode term, and get no advantage; mean_s and std_s only use current steps. So the distance of a
current step includes successes of earlier visits, and a current episode is also compared with the earlier ones. Groups
without a past differ from GraphGPO only by the episode term's averaging unit: episodes, each once. The caller that
builds the table decides which tasks are visited again and how long their past is kept.
std with ddof 1. Averaging unit of the step term: the steps at a state. A state seen once, or without spread: step term
0; a group of one episode: episode term 0. Successes are those of `table.success`.
Source: 2609.03383, from one secondary note. Missing there, so our choice: the successor of a timeout (the state in
which the episode stopped, as in GraphGPO; or a failure).
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
from cairn.trainer.credit.methods.graphgpo import hops


class TIGPOConfig(Config):
    """Settings of TIGPO."""

    w: float = Field(0.1, gt=0, lt=1, description="Factor of the reward for each step further from success.")
    scale: float = Field(10.0, gt=0, description="C: reward of a step that succeeds.")
    timeout: Literal["open", "failure"] = Field("open", description="The final state of an episode that a budget cut.")
    normalize: Literal["none", "std"] = Field("std", description="Divide both terms by their std, or not.")
    step_weight: float = Field(1.0, ge=0, description="Of the step term.")
    episode_weight: float = Field(1.0, ge=0, description="Of the episode term.")
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: TIGPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    graph = build_graph(table, table.anchor, table.next_anchor, config.timeout)
    nearness = config.scale * config.w ** hops(graph)[1]
    is_now = None if table.past is None else (~table.past).astype(np.float64)
    step_term = centered(nearness, graph.tail, scale=config.normalize, epsilon=config.epsilon, weight=is_now)
    episode = episode_term(table, config.normalize, config.epsilon)
    return config.episode_weight * episode + config.step_weight * step_term


CREDIT = Credit(
    TIGPOConfig,
    from_function(compute),
    assumes=("a terminal reward",),
    reads_past=True,
    needs_in_training=("past",),
    violates={"shift": "which episodes succeed follows from their scores"},
)
