"""Closure: Q - V from a Bellman equation on the trajectory graph, shrunk for rare visits.

::

    V(s)   = (sum over steps at s of gamma (r + V(x)) + k v0(s)) / (n(s) + k)
    A(s,a) = Q - V = (sum over steps (s,a) of d + k_a B(a)) / (n(s,a) + k_a)        d = gamma (r + V(x)) - V(s)
    B(a)   = sum over the group's steps that take a, wherever, of d / (n(a) + k_b)

x: the state that the step led to; an end has value 0. k: `prior_visits`, pseudo-visits of each state; v0: the mean
discounted outcome of the group's episodes, or with several `keys`, coarse to fine, the value of the next coarser state.
k_a: `prior_actions`, pseudo-tries of each action, with the action's value elsewhere in the group, B, itself shrunk by
k_b, `prior_pool`; without `prior_pool`, B = 0 and Q is shrunk towards V. All V are solved jointly. An episode cut by a
budget ends in the state in which it stopped, with the value from other visits or v0 (`timeout = "open"`), or in an end
of value 0 ("failure").

Averaging unit: steps. Degenerate cases: a state seen once gives a small credit, not none; a group without any reward
gives exactly 0; a group in which all succeed ranks steps by delay; a group of one episode credits steps by their
outcomes.
Equal keys and actions with different outcomes, in an environment declared deterministic, prove that a key covers
several states: such keys are split by their history (`split_rounds`).

k = k_a = 0 without splitting is the empirical Bellman equation of CRBC (2609.35082), GRAFT, Gated-BEPO (2608.06861) and
GraphHCA (2609.35084), which are concurrent work. New here: the shrinkage inside the operator, leaving the own episode
out, widths and the audit.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel import keys
from cairn.trainer.credit.kernel.aliases import split
from cairn.trainer.credit.kernel.graph import Graph, build_graph
from cairn.trainer.credit.kernel.returns import scores
from cairn.trainer.credit.kernel.segments import means, segments
from cairn.trainer.credit.kernel.values import fixed_point, next_values, start_values

TINY = 1e-9  # lower bound of a width as a divisor
ENDS = 0.1  # of an episode: the weight of each end of the score range
WIDTH_PRIOR, WIDTH_ONCE, WIDTH_OWN = 0.5, 0.4, 0.2  # a, b, c of `width`


class ClosureConfig(Config):
    """Settings of closure."""

    gamma: float = Field(0.95, gt=0, le=1, description="Discount of a step.")
    prior_visits: float = Field(0.1, ge=0, description="k: how many visits the prior of a state counts for.")
    prior_actions: float = Field(2.0, ge=0, description="k_a: how many tries the prior of an action counts for.")
    prior_pool: float | None = Field(
        8.0, gt=0, description="k_b: how many steps of an action weigh as much as doubt; none: actions are not pooled."
    )
    keys: tuple[str, ...] = Field(("anchor",), min_length=1, description="State keys, coarse to fine, each nested.")
    timeout: Literal["open", "failure"] = Field("open", description="The final state of an episode that a budget cut.")
    split_rounds: int = Field(4, ge=0, description="How often keys proved aliased are split by the steps before.")
    score_range: tuple[float, float] = Field((0.0, 1.0), description="Least and greatest score, for widths only.")
    per_width: bool = Field(False, description="Give advantages in units of their widths.")
    leave_own_out: bool = Field(
        False, description="Leave an episode's own steps out of the V that it is compared with."
    )


class Closure:
    """The estimator, with the standard deviations of its advantages."""

    def __init__(self, config: ClosureConfig) -> None:
        self.config = config

    def __call__(self, table: StepTable, /) -> Floats:
        """Return one advantage per row, float64 [N]."""
        advantage = _advantage(table, self.config)
        return advantage / np.maximum(self.std(table), TINY) if self.config.per_width else advantage

    def std(self, table: StepTable) -> Floats:
        """Return the standard deviation of each advantage, float64 [N]; see `width`."""
        return width(table, self.config)


def _advantage(table: StepTable, config: ClosureConfig) -> Floats:
    graph, value = solve(table, config)
    q_target = config.gamma * next_values(table, graph, value)
    baseline = _without_own(table, graph, value, q_target, config) if config.leave_own_out else value[graph.tail]
    td_error = q_target - baseline
    if config.prior_actions == 0:
        return means(td_error, graph.pair)[graph.pair]
    count = np.bincount(graph.pair)[graph.pair]
    pooled = config.prior_actions * _q_target_of_action(table, td_error, config)
    return (np.bincount(graph.pair, td_error)[graph.pair] + pooled) / (count + config.prior_actions)


def solve(table: StepTable, config: ClosureConfig) -> tuple[Graph, Floats]:
    """Return the finest graph and the values [V + 1] of its nodes."""
    is_split = table.is_deterministic and config.split_rounds > 0
    anchor, next_anchor = split(table, config.split_rounds) if is_split else (table.anchor, table.next_anchor)
    prior_of_row = start_values(table, config.gamma)[table.group]
    for name in config.keys:
        key = anchor if name == "anchor" else keys.named(table, name)
        graph = build_graph(table, key, next_anchor if name == "anchor" else keys.unknown(table), config.timeout)
        prior = start_values(table, config.gamma)[graph.group_of_node]
        prior[graph.tail] = prior_of_row
        value = fixed_point(table, graph, config.gamma, config.prior_visits, prior)
        prior_of_row = value[graph.tail]
    return graph, value


def _q_target_of_action(table: StepTable, td_error: Floats, config: ClosureConfig) -> Floats:
    """Return B of each row's action."""
    if config.prior_pool is None:
        return np.zeros(len(table))
    action = segments(table.group, table.action)
    out: Floats = (np.bincount(action, td_error) / (np.bincount(action) + config.prior_pool))[action]
    return out


def _without_own(table: StepTable, graph: Graph, value: Floats, q_target: Floats, config: ClosureConfig) -> Floats:
    """Return V at each row's state without the row's own episode; the prior if no step remains."""
    count = np.bincount(graph.tail, minlength=graph.num_nodes)[graph.tail] + config.prior_visits
    own = np.unique(np.stack([graph.tail, table.episode]), axis=1, return_inverse=True)[1].reshape(-1)
    left = count - np.bincount(own)[own]
    rest = value[graph.tail] * count - np.bincount(own, q_target)[own]
    alone = start_values(table, config.gamma)[table.group]
    return np.where(left > 1e-9, rest / np.maximum(left, 1e-9), alone)


def width(table: StepTable, config: ClosureConfig) -> Floats:
    """Return the standard deviation of each advantage A = Q - V, float64 [N].

    ``w^2 = v (a + b / n(s,a)) + c A^2`` with the constants a, b and c above.

    v = Var(score) / T, T: steps per episode of the group. In a deterministic environment, an episode's score minus its
    expectation is the sum of its steps' exact advantages, which are uncorrelated: Var(score) = E[sum_t A_t^2], so v is
    the mean squared advantage. Var(score) includes two extra tenths of an episode, with the ends of `score_range` as
    scores, so that a group without a success, or without a failure, keeps some variance. a, b and c are fitted to
    CreditBench's exact advantages: ``A +- 1.645 w`` should cover 90 %.
    """
    graph, _ = solve(table, config)
    group, count = table.group[table.first_rows], np.bincount(table.group[table.first_rows])
    low, high = config.score_range
    score, total = scores(table), count + 2 * ENDS
    mean = (np.bincount(group, score) + ENDS * (low + high)) / total
    squares = np.bincount(group, (score - mean[group]) ** 2) + ENDS * ((low - mean) ** 2 + (high - mean) ** 2)
    typical = squares / total / (np.bincount(table.group) / count)
    visits = np.bincount(graph.pair)[graph.pair]
    spread = typical[table.group] * (WIDTH_PRIOR + WIDTH_ONCE / visits)
    return np.sqrt(spread + WIDTH_OWN * _advantage(table, config) ** 2)


_WHY = "where all succeed, steps are ranked by delay, and a state seen once leans on the group's mean outcome"
CREDIT = Credit(ClosureConfig, Closure, violates={"no spread": _WHY, "lone": _WHY})
