"""CRBC: Q - V of the Bellman equation on sampled steps, for states with several actions.

::

    V(s)   = mean over steps at s of beta V(x)             for all s at once; V(success) = 1, V(failure) = 0
    Q(s,a) = mean over steps (s,a) of beta V(x)            x: the state the step led to
    A      = episode_weight A^G + step_weight [two actions or more at s] (Q - V) / max(sigma(s), floor)

sigma(s)^2 = mean over steps at s of (Q - V)^2. A^G: GRPO's advantage, std with ddof 1. Averaging units: steps at a
state, and in A^G episodes. A state with one action has Q = V, so the gate needs no explicit test: the step term is 0. A
group of one episode: A^G = 0. No success in the group: step term 0. Successes are those of `table.success`, independent
of their rewards. A timeout is a failure (the source), or leads to the state in which the episode stopped ("open").
`depth` K stops early: V is backed up K times from the mean discounted outcome of the visits. With K = 0, Q is the mean
outcome of the steps (s,a): GiGPO's returns, times beta, averaged by action. At each K, V is the mean of Q over the
steps at s.
Source: 2609.35082 (no code). Departures: none known.
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
from cairn.trainer.credit.kernel.graph import Graph, build_graph
from cairn.trainer.credit.kernel.segments import means
from cairn.trainer.credit.kernel.values import backups, fixed_point, next_values, outcomes, success_rewards, visit_means


class CRBCConfig(Config):
    """Settings of CRBC."""

    beta: float = Field(0.98, gt=0, le=1, description="Discount of a step.")
    depth: int | None = Field(None, ge=0, description="K: backups from the visit means; none: to the end.")
    floor: float = Field(0.1, gt=0, description="Least divisor of Q - V.")
    normalize: Literal["none", "floor"] = Field(
        "floor", description="Divide Q - V by the larger of sigma and floor, or not."
    )
    timeout: Literal["failure", "open"] = Field(
        "failure", description="The final state of an episode that a budget cut."
    )
    step_weight: float = Field(5.0, ge=0, description="Of the step term.")
    episode_weight: float = Field(1.0, ge=0, description="Of the episode term.")
    epsilon: float = Field(1e-6, gt=0, description="Added to the episode term's standard deviation.")


def compute(table: StepTable, config: CRBCConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    ended = success_rewards(table)
    graph = build_graph(ended, table.anchor, table.next_anchor, config.timeout)
    q_target = _q_target(ended, graph, config)
    credit = means(q_target, graph.pair)[graph.pair] - means(q_target, graph.tail)[graph.tail]
    if config.normalize == "floor":
        sigma = np.sqrt(means(credit**2, graph.tail))
        credit = credit / np.maximum(sigma, config.floor)[graph.tail]
    episode = episode_term(table, "std", config.epsilon)
    return config.episode_weight * episode + config.step_weight * credit


def _q_target(ended: StepTable, graph: Graph, config: CRBCConfig) -> Floats:
    """Return the target of each step: its own outcome, or the value of its next state, [N]."""
    if config.depth == 0:
        return outcomes(ended, config.beta)
    if config.depth is None:
        value = fixed_point(ended, graph, config.beta)
    else:
        value = backups(ended, graph, config.beta, visit_means(ended, graph, config.beta), config.depth - 1)
    return config.beta * next_values(ended, graph, value)


CREDIT = Credit(CRBCConfig, from_function(compute), assumes=("a terminal reward",))
