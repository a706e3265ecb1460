"""Graph methods as slots: state key x value backup x credit x normaliser x fusion.

`step_term` fills the first four.

::

    value backup   none | visit_mean | fixed_point (to `depth`, or to the end) | best | distance (gamma^steps)
    credit         return: o - 0    difference: r + V(x) - V(s)    td: gamma (r + V(x)) - V(s)
                   q_minus_v: mean over steps (s,a) of gamma (r + V(x)), - V(s)    gae: sum (gamma lambda)^k td_{t+k}
    normaliser     none | centre: - mean | std: (- mean) / (std + epsilon) | floor: / max(root mean square, floor)
                   over the steps of a state, of a group, or of the batch; std with `ddof`

o: the step's discounted outcome (`values.outcomes`). x: the step's next state. Averaging unit: steps. A segment of one
step, or without spread: centre and std give 0. With `depth` K, q_minus_v computes Q from the values after K - 1
backups, so that V is the mean of Q. Values by distance count steps, not rewards. Where a timeout is "open", keys other
than "anchor" do not identify the state that an episode stopped in: it then counts as a state without outgoing steps.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.table import Floats, Ids, StepTable
from cairn.trainer.credit.kernel import keys, values
from cairn.trainer.credit.kernel.graph import Graph, build_graph
from cairn.trainer.credit.kernel.returns import discounted, scores
from cairn.trainer.credit.kernel.segments import Scale, centered, means

Backup = Literal["none", "visit_mean", "fixed_point", "best", "distance"]
Measure = Literal["return", "difference", "td", "q_minus_v", "gae"]
Normalizer = Literal["none", "centre", "std", "floor"]
Within = Literal["state", "group", "batch"]


class Slots(Config):
    """A choice for each slot."""

    key: str = Field("anchor", description="What makes two states one.")
    timeout: Literal["failure", "open"] = Field(
        "failure", description="The final state of an episode that a budget cut."
    )
    backup: Backup = Field("fixed_point", description="How values of states are found.")
    depth: int | None = Field(None, ge=0, description="Backups of the fixed point, from visit means; none: to the end.")
    gamma: float = Field(0.95, gt=0, le=1, description="Discount of a step.")
    prior_visits: float = Field(0.0, ge=0, description="Pseudo-visits of a state, worth the group's mean outcome.")
    credit: Measure = Field("q_minus_v", description="The credit of a step.")
    lam: float = Field(0.0, ge=0, le=1, description="Lambda of the credit `gae`.")
    normalize: Normalizer = Field("none", description="How credits are scaled.")
    within: Within = Field("state", description="Among which steps.")
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations.")
    floor: float = Field(0.1, gt=0, description="Least divisor of the normaliser `floor`.")
    ddof: int = Field(1, ge=0, le=1, description="Taken off the number of steps in a variance.")


def graph_of(table: StepTable, slots: Slots) -> Graph:
    """Return the graph whose nodes are the states of the slots' key."""
    next_key = table.next_anchor if slots.key == "anchor" else keys.unknown(table)
    return build_graph(table, keys.named(table, slots.key), next_key, slots.timeout)


def state_values(table: StepTable, graph: Graph, slots: Slots) -> Floats:
    """Return the state values by the slots' backup, [V + 1]."""
    if slots.backup == "none":
        return np.zeros(graph.num_nodes + 1)
    if slots.backup == "best":
        return values.best_reachable(table, graph, slots.gamma)
    if slots.backup == "distance":
        distance = values.distances(graph)
        return np.where(np.isfinite(distance), slots.gamma**distance, 0.0)
    if slots.backup == "visit_mean":
        return values.visit_means(table, graph, slots.gamma)
    if slots.depth is not None:
        return values.backups(table, graph, slots.gamma, values.visit_means(table, graph, slots.gamma), slots.depth)
    prior = values.start_values(table, slots.gamma)[graph.group_of_node]
    return values.fixed_point(table, graph, slots.gamma, slots.prior_visits, prior)


def step_credit(table: StepTable, graph: Graph, value: Floats, slots: Slots) -> Floats:
    """Return each step's credit before normalisation, [N]."""
    if slots.credit == "return":
        return values.outcomes(table, slots.gamma)
    if slots.credit == "q_minus_v" and slots.backup == "fixed_point" and slots.depth is not None:
        q_target = _q_target_at_depth(table, graph, slots)
        return means(q_target, graph.pair)[graph.pair] - means(q_target, graph.tail)[graph.tail]
    landing = values.next_values(table, graph, value)
    if slots.credit == "difference":
        return landing - value[graph.tail]
    q_target = slots.gamma * landing
    if slots.credit == "q_minus_v":
        mean = np.bincount(graph.pair, q_target) / np.bincount(graph.pair)
        return mean[graph.pair] - value[graph.tail]
    delta = q_target - value[graph.tail]
    if slots.credit == "td":
        return delta
    return discounted(table, delta, np.full(len(table), slots.gamma * slots.lam))


def _q_target_at_depth(table: StepTable, graph: Graph, slots: Slots) -> Floats:
    """Return the targets [N] whose means are the state values after `depth` backups."""
    if slots.depth == 0:
        return values.outcomes(table, slots.gamma)
    assert slots.depth is not None
    start = values.visit_means(table, graph, slots.gamma)
    return slots.gamma * values.next_values(
        table, graph, values.backups(table, graph, slots.gamma, start, slots.depth - 1)
    )


def normalized(credit: Floats, table: StepTable, graph: Graph, slots: Slots) -> Floats:
    """Return credits normalised over the steps of their state, their group or the batch, [N]."""
    if slots.normalize == "none":
        return credit
    segment = _segment(table, graph, slots.within)
    if slots.normalize == "floor":
        squares = np.bincount(segment, credit**2) / np.bincount(segment)
        return credit / np.maximum(np.sqrt(squares), slots.floor)[segment]
    scale: Scale = "std" if slots.normalize == "std" else "none"
    return centered(credit, segment, scale=scale, epsilon=slots.epsilon, ddof=slots.ddof)


def step_term(table: StepTable, slots: Slots) -> Floats:
    """Return the step term of the slots' method, [N]."""
    graph = graph_of(table, slots)
    value = state_values(table, graph, slots)
    return normalized(step_credit(table, graph, value, slots), table, graph, slots)


def episode_term(table: StepTable, normalize: Literal["none", "std"], epsilon: float = 1e-6) -> Floats:
    """Return GRPO's advantage of each row's episode, [N]: centred scores, with or without std."""
    group = table.group[table.first_rows]
    return centered(scores(table), group, scale=normalize, epsilon=epsilon)[table.episode]


def _segment(table: StepTable, graph: Graph, within: Within) -> Ids:
    if within == "state":
        return graph.tail
    return table.group if within == "group" else np.zeros(len(table), np.int64)
