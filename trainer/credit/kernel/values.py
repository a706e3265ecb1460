"""Values of states, backed up over the trajectory graph.

All functions take the graph of N steps over V nodes and return float64 [V + 1]; the last entry belongs to the end and
is 0. The *landing* of a step is ``r + V(head)``: the reward is earned on arrival. The value of a state
follows from its steps' landings with one discount, so that a success d steps away is worth discount^d::

    visit_means     V(s) = mean over visits of the discounted outcome that followed
    fixed_point     V(s) = (sum over steps at s of discount landing + k prior(s)) / (n(s) + k)
    best_reachable  V(s) = max(least(s), max over steps at s of discount landing)
    distances       fewest recorded steps to a success

A state without outgoing steps (an episode was cut there) has the value of its prior, or 0 without a prior. Without a
discount, a state with only a recorded cycle is treated likewise. `success_rewards` makes a table whose only reward is 1
for a success.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from cairn.core.table import Flags, Floats, StepTable
from cairn.trainer.credit.kernel.graph import Graph
from cairn.trainer.credit.kernel.returns import returns

LARGEST_BLOCK = 4096  # largest number of nodes of a group for a direct solution: fill-in grows with its square
TOLERANCE = 1e-12  # of the iterative solution for larger groups


def success_rewards(table: StepTable, reward: float = 1.0) -> StepTable:
    """Return the table with `reward` for each success's last step, and 0 for all other steps."""
    return replace(table, reward=np.where(table.is_last & table.success, reward, 0.0))


def next_values(table: StepTable, graph: Graph, value: Floats) -> Floats:
    """Return ``r + V(head)`` of every step, [N]."""
    out: Floats = table.reward + value[graph.head]
    return out


def outcomes(table: StepTable, discount: float) -> Floats:
    """Return ``o_t = discount (r_t + o_{t+1})`` along each episode, [N], without pooling."""
    return discount * returns(table, table.reward, discount)


def node_means(graph: Graph, x: Floats) -> Floats:
    """Return the mean of x over the steps at each node, [V]; 0 for nodes without steps."""
    count = np.bincount(graph.tail, minlength=graph.num_nodes)
    shift = np.zeros(graph.num_nodes)
    shift[graph.tail[::-1]] = x[::-1]  # keeps the mean of equal values exact
    sums = np.bincount(graph.tail, x - shift[graph.tail], graph.num_nodes)
    out: Floats = shift + sums / np.maximum(count, 1)
    return out


def visit_means(table: StepTable, graph: Graph, discount: float) -> Floats:
    """``V(s) = mean over visits of o_t``."""
    return np.append(node_means(graph, outcomes(table, discount)), 0.0)


def start_values(table: StepTable, discount: float) -> Floats:
    """Return the mean of ``o_0`` over the episodes of each group, [G]."""
    first = table.first_rows
    group = table.group[first]
    out: Floats = np.bincount(group, outcomes(table, discount)[first]) / np.bincount(group)
    return out


def fixed_point(
    table: StepTable, graph: Graph, discount: float, prior_weight: float = 0.0, prior: Floats | float = 0.0
) -> Floats:
    """Solve ``V(s) (n(s) + k) = sum over steps at s of discount (r + V(head)) + k prior(s)``.

    `prior_weight` is k, the number of pseudo-visits with value `prior` [V]. k = 0: the Bellman equation of the sampling
    policy, with counts in place of probabilities.
    """
    count = np.bincount(graph.tail, minlength=graph.num_nodes).astype(np.float64)
    earned = np.bincount(graph.tail, discount * table.reward, graph.num_nodes).astype(np.float64)
    earned += prior_weight * np.asarray(prior, np.float64)
    weight = np.where(count + prior_weight > 0, count + prior_weight, 1.0)
    inner = ~graph.ends
    flow = sparse.csr_matrix(
        (np.full(int(inner.sum()), discount), (graph.tail[inner], graph.head[inner])),
        shape=(graph.num_nodes, graph.num_nodes),
    )
    if discount == 1 and prior_weight == 0:
        leads_out = _reaches_an_end(graph)
        flow, earned = sparse.diags(leads_out.astype(np.float64)) @ flow, np.where(leads_out, earned, 0.0)
    largest = int(np.bincount(graph.group_of_node).max())
    return np.append((_solve if largest <= LARGEST_BLOCK else _sweep)(flow, weight, earned), 0.0)


def _reaches_an_end(graph: Graph) -> Flags:
    """Return whether each node reaches the end or a state without outgoing steps, [V]."""
    left = np.bincount(graph.tail, minlength=graph.num_nodes)
    out = np.append(left == 0, True)
    while True:
        new = out.copy()
        new[graph.tail[out[graph.head]]] = True
        if np.array_equal(new, out):
            return new[:-1]
        out = new


def _solve(flow: sparse.csr_matrix, weight: Floats, earned: Floats) -> Floats:
    """Solve ``(diag(weight) - flow) V = earned`` by sparse elimination."""
    out: Floats = splu((sparse.diags(weight) - flow).tocsc()).solve(earned)
    return out


def _sweep(flow: sparse.csr_matrix, weight: Floats, earned: Floats) -> Floats:
    """Solve the same equation by iteration; a sweep shrinks the error at least by the discount."""
    value = earned / weight
    while True:
        new: Floats = (earned + flow @ value) / weight
        if np.abs(new - value).max() <= TOLERANCE * max(1.0, float(np.abs(new).max())):
            return new
        value = new


def backups(table: StepTable, graph: Graph, discount: float, start: Floats, depth: int) -> Floats:
    """Return the state values after `depth` backups from `start`, [V + 1].

    One backup is ``V <- mean over steps at s of discount (r + V(head))``.
    """
    value = start
    for _ in range(depth):
        value = np.append(node_means(graph, discount * next_values(table, graph, value)), 0.0)
    return value


def best_reachable(table: StepTable, graph: Graph, discount: float, least: Floats | float = 0.0) -> Floats:
    """Return the values of the best recorded continuations, [V + 1].

    ``V(s) = max(least(s), max over steps at s of discount (r + V(head)))``; `least` [V] is at least 0.

    A state whose steps only have costs gets `least`. Without a discount, only paths of up to V steps count, so that the
    value of a rewarding cycle stays finite.
    """
    start = np.append(np.broadcast_to(least, graph.num_nodes), 0.0)
    value, sweeps = start, 0
    while discount < 1 or sweeps < graph.num_nodes:
        new = start.copy()
        np.maximum.at(new, graph.tail, discount * next_values(table, graph, value))
        sweeps += 1
        if np.abs(new - value).max() <= TOLERANCE * max(1.0, float(new.max())):
            return new
        value = new
    return value


def distances(graph: Graph) -> Floats:
    """Fewest recorded steps to a success, [V + 1]; inf for unreachable.

    A winning step counts as one step; all other steps to the end have infinite distance. Cost: O(N) per step of the
    longest path to a success.
    """
    out = np.full(graph.num_nodes + 1, np.inf)
    while True:
        new = out.copy()
        np.minimum.at(new, graph.tail, 1.0 + np.where(graph.is_win, 0.0, out[graph.head]))
        if np.array_equal(new, out):
            return out
        out = new
