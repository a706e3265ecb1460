"""RewardFlow: propagates the best outcome back through the graph and credits value gains.

::

    V(s) = max over steps at s of gamma W, at least 0
    W    = V(x), x: the state the step led to; of an episode's last step: the last reward, and where a budget cut the
           episode in x, max(last reward, V(x))
    A    = episode_weight A^E + step_weight (W - V(s) - mean over the steps at s)

With one reward for success, V = reward gamma^d at d steps from the nearest success. A^E: the episode's score minus the
group's mean. Both terms may be divided by their std (ddof 1) plus epsilon. Averaging units: episodes in A^E, steps at a
state in the step term. A state seen once, or without spread: step term 0; a group of one episode: episode term 0. V(s)
cancels among the steps of one state unless one of them has no recorded successor.
A timeout leads to the state in which the episode stopped ("open", the source), or to an end of value 0. With "open" and
without a record of that state, the step uses its raw reward as W - V(s), as in the source. The last reward enters a
maximum and is never added, so that no loop counts it twice: V is at most gamma times the largest last reward.
Source: 2603.18859 and its authors' code. Departures: an end is never an ordinary node; in the code, a node first seen
before the end keeps reward 0 even if it ends another episode; rewards before an episode's last step count in A^E only;
steps without effect, such as looking around, are kept, where the code removes them from ALFWorld's texts; A^E is
averaged over episodes, not over steps.
"""

from __future__ import annotations

from dataclasses import replace
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
from cairn.trainer.credit.kernel.values import best_reachable, next_values


class RewardFlowConfig(Config):
    """Settings of RewardFlow."""

    gamma: float = Field(0.9, gt=0, le=1, description="Discount of a step.")
    timeout: Literal["open", "failure"] = Field("open", description="The final state of an episode that a budget cut.")
    normalize: Literal["none", "std"] = Field("none", description="Divide both terms by their std, or not.")
    step_weight: float = Field(1.0, ge=0, description="Of the step term.")
    episode_weight: float = Field(1.0, ge=0, description="Of the episode term.")
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: RewardFlowConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    cut = table.is_last & table.truncated & ~table.success
    ended = replace(table, reward=np.where(table.is_last & ~cut, table.reward, 0.0))
    graph = build_graph(ended, table.anchor, table.next_anchor, config.timeout)
    stays_open = cut & ~graph.ends
    least = np.zeros(graph.num_nodes)
    np.maximum.at(least, graph.tail[stays_open], config.gamma * table.reward[stays_open])
    value = best_reachable(ended, graph, config.gamma, least)
    next_value = next_values(ended, graph, value)
    next_value = np.where(stays_open, np.maximum(next_value, table.reward), next_value)
    gain = next_value - value[graph.tail]
    gain = np.where(stays_open & ~table.knows_next, table.reward, gain)
    step_term = centered(gain, graph.tail, scale=config.normalize, epsilon=config.epsilon)
    episode = episode_term(table, config.normalize, config.epsilon)
    return config.episode_weight * episode + config.step_weight * step_term


CREDIT = Credit(RewardFlowConfig, from_function(compute))
