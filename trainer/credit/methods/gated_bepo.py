"""Gated-BEPO (reconstructed): Bellman advantages at states that branch, else GRPO's.

::

    V(s)    = mean over steps at s of gamma (r + V(x))      for all s at once; x: the state the step led to; V(end) = 0
    delta_t = gamma (r_t + V(x)) - V(s)
    A^B_t   = norm(sum_k (gamma lam)^k delta_{t+k}; group)
    A       = g(s) step_weight A^B + (1 - g(s)) episode_weight A^E
    g(s)    = [the steps at s led to two different states or more]

A^E: GRPO's advantage, std with ddof 1. Success and failure are two successors. Averaging units: steps in V and the
norm, episodes in A^E. Degenerate cases: a state with a single successor has g = 0; so a single episode that never
returns to a state, and equal episodes, have no advantage. A group of one: A^E = 0.
Source: 2608.06861, reconstructed from its abstract and a secondary note, which give V, delta, GAE and the gate. The
full text was not available, so our choice: gamma, lam, the norm (z-scores within the group, so that both parts have one
scale), unchanged rewards, a timeout as failure. The adaptive mixing of the source's last form, which replaces the gate,
is not implemented. V is rounded to 12 digits, so that rounding errors are not normalised to differences.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Flags, Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.family import Slots, episode_term, graph_of, normalized, state_values, step_credit
from cairn.trainer.credit.kernel.graph import Graph


class GatedBEPOConfig(Config):
    """Settings of Gated-BEPO."""

    gamma: float = Field(0.95, gt=0, le=1, description="Discount of a step.")
    lam: float = Field(0.95, ge=0, le=1, description="Lambda: how far a step is credited with later surprises.")
    timeout: Literal["failure", "open"] = Field(
        "failure", description="The final state of an episode that a budget cut."
    )
    normalize: Literal["none", "centre", "std"] = Field("std", description="How A^B is scaled.")
    within: Literal["group", "state"] = Field("group", description="Segment of that norm.")
    step_weight: float = Field(1.0, ge=0, description="Of A^B.")
    episode_weight: float = Field(1.0, ge=0, description="Of A^E.")
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: GatedBEPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    slots = Slots(credit="gae", **config.model_dump(exclude={"step_weight", "episode_weight"}))
    graph = graph_of(table, slots)
    value = np.round(state_values(table, graph, slots), 12)
    step_term = normalized(step_credit(table, graph, value, slots), table, graph, slots)
    episode = episode_term(table, "std", config.epsilon)
    return np.where(branches(graph), config.step_weight * step_term, config.episode_weight * episode)


def branches(graph: Graph) -> Flags:
    """Return whether each row's state has two or more different successors or ends, [N]."""
    successor = np.where(graph.ends, graph.num_nodes + graph.is_win, graph.head)
    least = np.full(graph.num_nodes, graph.num_nodes + 1)
    most = np.zeros(graph.num_nodes, np.int64)
    np.minimum.at(least, graph.tail, successor)
    np.maximum.at(most, graph.tail, successor)
    out: Flags = (least != most)[graph.tail]
    return out


CREDIT = Credit(
    GatedBEPOConfig,
    from_function(compute),
    violates={"shift": "success and failure are two final states for any scores"},
)
