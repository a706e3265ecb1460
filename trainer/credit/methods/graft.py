"""GRAFT: temporal differences of the Bellman solution on the graph, with optional Graph GAE.

::

    V(s)  = mean over steps at s of gamma V(x)      for all s at once; V(success) = 1, V(failure) = 0
    td    = gamma V(x) - V(s)
    A     = norm(td + sum_{k >= 1} (gamma lam)^k mean {td of the edges k hops ahead}; state)
    norm(x) = (x - mean) / (std + epsilon);  a step alone at its state: sign(x) (`singleton = "sign"`), or 0 ("zero")

Edges k hops ahead: the edges at the k-th step of a random walk from x that chooses uniformly among the distinct edges
(s, a, x) of each state (`edges = "distinct"`) or among all steps (`edges = "raw"`). At the fixed point the mean td of
all steps at a state is 0, so on raw edges Graph GAE is td for every lam; lam only matters for distinct edges. lam = 0:
td. std with ddof 1. Averaging unit: steps at a state. Without spread: 0. No episode term. Successes are those of
`table.success`. A node that reaches no end has value 0. A timeout is a failure, or leads to the state in which the
episode stopped ("open").
Source: the paper on GRAFT (no arXiv id known), which does not specify the multiplicity and the weights of the k-hop
edges: the random walk is our interpretation. The default is td alone, the result for raw edges; the source's lam is
0.95 (ALFWorld), 0.8 (WebShop), 0.6 (SearchQA). "sign" gives full strength to near-zero credits; "zero" avoids this. At
a state with one step td is 0, so that "sign" only matters with lam > 0. Departures: credits up to 1e-9 have sign 0, and
V is rounded to 12 digits, so that rounding errors are not normalised to differences. The source's sequence-level ratio
belongs to the loss.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field
from scipy import sparse

from cairn.core.config import Config
from cairn.core.keys import mix_keys
from cairn.core.plugins import from_function
from cairn.core.table import Flags, Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.graph import Graph, build_graph
from cairn.trainer.credit.kernel.segments import centered, segments
from cairn.trainer.credit.kernel.values import fixed_point, next_values, success_rewards

_ZERO = 1e-9


class GRAFTConfig(Config):
    """Settings of GRAFT."""

    gamma: float = Field(0.99, gt=0, le=1, description="Discount of a step.")
    lam: float = Field(0.0, ge=0, le=1, description="Lambda of Graph GAE; 0: temporal differences alone.")
    edges: Literal["distinct", "raw"] = Field(
        "distinct", description="Whether an edge ahead counts once, or each time."
    )
    timeout: Literal["failure", "open"] = Field(
        "failure", description="The final state of an episode that a budget cut."
    )
    normalize: Literal["none", "centre", "std"] = Field(
        "std", description="Take the state's mean off and divide by its std; take the mean off; or neither (none)."
    )
    singleton: Literal["sign", "zero"] = Field("sign", description="The credit of the only step at a state.")
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations.")


def compute(table: StepTable, config: GRAFTConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    ended = success_rewards(table)
    graph = build_graph(ended, table.anchor, table.next_anchor, config.timeout)
    value = np.round(fixed_point(ended, graph, config.gamma), 12)
    td = config.gamma * next_values(ended, graph, value) - value[graph.tail]
    is_counted = _distinct(graph) if config.edges == "distinct" else np.ones(len(table), np.bool_)
    credit = td + ahead(graph, td, is_counted, config.gamma * config.lam)[graph.head]
    if config.normalize == "none":
        return credit
    out = centered(credit, graph.tail, scale="std" if config.normalize == "std" else "none", epsilon=config.epsilon)
    if config.singleton == "zero":
        return out
    is_alone = np.bincount(graph.tail)[graph.tail] == 1
    return np.where(is_alone, np.sign(credit) * (np.abs(credit) > _ZERO), out)


def ahead(graph: Graph, td: Floats, is_counted: Flags, rate: float) -> Floats:
    """Return the discounted mean td of the counted edges ahead of each node, [V + 1].

    ``sum_{k >= 1} rate^k mean {td of the counted edges k hops ahead}``
    """
    tail, head, size = graph.tail[is_counted], graph.head[is_counted], graph.num_nodes + 1
    share = 1.0 / np.maximum(np.bincount(tail, minlength=size), 1)
    walk = sparse.csr_matrix((share[tail], (tail, head)), shape=(size, size))
    layer = rate * share * np.bincount(tail, td[is_counted], size)
    out = np.zeros(size)
    while np.abs(layer).max() > _ZERO * 1e-3:
        out += layer
        layer = rate * (walk @ layer)
    return out


def _distinct(graph: Graph) -> Flags:
    """Return flags of the first step of each edge (state, action, next state or end), [N]."""
    end = np.where(graph.ends, graph.is_win, 0).astype(np.uint64)
    edge = segments(graph.pair, mix_keys(graph.head.astype(np.uint64), end))
    out = np.zeros(len(edge), np.bool_)
    out[np.unique(edge, return_index=True)[1]] = True
    return out


CREDIT = Credit(
    GRAFTConfig,
    from_function(compute),
    assumes=("a terminal reward",),
    violates={"shift": "which episodes succeed follows from their scores"},
)
