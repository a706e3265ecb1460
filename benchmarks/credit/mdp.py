"""Small decision problems with exact values: arrays of all states, dynamic programming.

Rules (`DecisionRules`) define a problem; `tabulate` enumerates all reachable states and builds the arrays. The
objective is the undiscounted sum of rewards within the turn limit H, so values depend on the remaining turns: ``V_t(s)
= sum_a pi(a|s) Q_t(s,a)``, ``Q_t(s,a) = sum_o p_o (r_o + V_{t+1}(s_o))``, ``V_H = 0``.

Axes: S states, A the maximum number of actions of a state, O the maximum number of outcomes of an action, H turns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cairn.core.table import Flags, Floats, Ids

State = Any  # Any: the problem's own hashable state type
Action = Any  # Any: likewise
Outcome = tuple[float, State, float, bool]  # probability, next state, reward, whether the episode is over


@dataclass(frozen=True, kw_only=True)
class DecisionRules:
    """The rules of a decision problem, in a readable form."""

    start: State
    actions: Callable[[State], Sequence[Action]]  # available actions; equal names are the same action in all states
    outcomes: Callable[[State, Action], Sequence[Outcome]]
    horizon: int  # turns after which the episode is cut
    observe: Callable[[State], Hashable] = lambda state: state  # source of the anchor; coarser: aliased states


@dataclass(frozen=True, kw_only=True, eq=False)
class MDP:
    """A decision problem as arrays; state 0 is the start, state S - 1 the absorbing end."""

    next: Ids  # [S, A, O]
    probability: Floats  # [S, A, O]; all 0: the action does not exist
    reward: Floats  # [S, A, O]
    action: Ids  # [S, A] id of the action's name; -1: does not exist
    anchor: Ids  # [S] id of the observation
    horizon: int

    @property
    def exists(self) -> Flags:
        """The existing actions of each state, [S, A]."""
        return self.action >= 0

    @property
    def end(self) -> int:
        """The absorbing state of finished episodes."""
        return len(self.action) - 1

    @property
    def is_deterministic(self) -> bool:
        """Whether every action has one outcome."""
        return bool((self.probability.max(-1)[self.exists] == 1).all())


def tabulate(rules: DecisionRules, limit: int = 50_000) -> MDP:
    """Return the arrays of all reachable states.

    Raises:
        ValueError: more than `limit` states are reachable.
    """
    states: dict[State, int] = {rules.start: 0}
    frontier, rows = [rules.start], []
    names: dict[Hashable, int] = {}
    for state in frontier:  # grows during iteration: breadth first
        row = []
        for name in rules.actions(state):
            outcomes = [
                (p, -1 if terminated else _number(states, frontier, x), r)
                for p, x, r, terminated in rules.outcomes(state, name)
            ]
            row.append((names.setdefault(name, len(names)), outcomes))
        rows.append(row)
        if len(states) > limit:
            raise ValueError(f"more than {limit} states can be reached")
    anchors: dict[Hashable, int] = {}
    seen = [anchors.setdefault(rules.observe(state), len(anchors)) for state in frontier]
    return _arrays(rows, [*seen, len(anchors)], rules.horizon)


def _number(states: dict[State, int], frontier: list[State], state: State) -> int:
    if state not in states:
        states[state] = len(states)
        frontier.append(state)
    return states[state]


def _arrays(rows: list[list[tuple[int, list[tuple[float, int, float]]]]], anchors: list[int], horizon: int) -> MDP:
    size, end = len(rows) + 1, len(rows)
    width = max(len(row) for row in rows)
    depth = max(len(outcomes) for row in rows for _, outcomes in row)
    following = np.full((size, width, depth), end, np.int64)
    probability, reward = np.zeros((2, size, width, depth))
    action = np.full((size, width), -1, np.int64)
    for s, row in enumerate(rows):
        for a, (name, outcomes) in enumerate(row):
            action[s, a] = name
            for o, (p, x, r) in enumerate(outcomes):
                following[s, a, o], probability[s, a, o], reward[s, a, o] = (end if x < 0 else x), p, r
    return MDP(
        next=following, probability=probability, reward=reward, action=action, anchor=np.array(anchors), horizon=horizon
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Exact:
    """The exact values of a policy."""

    advantage_HSA: Floats  # Q - V; 0 where the action does not exist
    visits_HS: Floats  # probability of state s before turn t
    value: float  # of the start
    gradient_SA: Floats  # of the value by the logits of a softmax policy: sum_t visits pi advantage


def evaluate(mdp: MDP, policy_SA: Floats) -> Exact:
    """Return values, visits and the policy gradient of a time-independent policy."""
    expected_SA = (mdp.probability * mdp.reward).sum(-1)
    value_S = np.zeros(len(policy_SA))
    advantage_HSA = np.zeros((mdp.horizon, *policy_SA.shape))
    for t in reversed(range(mdp.horizon)):
        q_SA = expected_SA + (mdp.probability * value_S[mdp.next]).sum(-1)
        value_S = (policy_SA * q_SA).sum(-1)
        advantage_HSA[t] = np.where(mdp.exists, q_SA - value_S[:, None], 0.0)
    visits_HS = np.zeros((mdp.horizon, len(policy_SA)))
    visits_HS[0, 0] = 1.0
    for t in range(1, mdp.horizon):
        flow = visits_HS[t - 1][:, None, None] * policy_SA[:, :, None] * mdp.probability
        visits_HS[t] = np.bincount(mdp.next.ravel(), flow.ravel(), len(policy_SA))
        visits_HS[t, mdp.end] = 0.0
    gradient_SA = np.einsum("hs,sa,hsa->sa", visits_HS, policy_SA, advantage_HSA)
    return Exact(advantage_HSA=advantage_HSA, visits_HS=visits_HS, value=float(value_S[0]), gradient_SA=gradient_SA)


def value_of(mdp: MDP, policy_SA: Floats) -> float:
    """Return the start's value under a policy, without the other results of `evaluate`."""
    expected_SA = (mdp.probability * mdp.reward).sum(-1)
    value_S = np.zeros(len(policy_SA))
    for _ in range(mdp.horizon):
        value_S = (policy_SA * (expected_SA + (mdp.probability * value_S[mdp.next]).sum(-1))).sum(-1)
    return float(value_S[0])


def best_action_values(mdp: MDP) -> Floats:
    """Return Q*_0(s, a) for a discount of 0.9 per turn, [S, A], the basis of benchmark policies."""
    expected_SA = (mdp.probability * mdp.reward).sum(-1)
    value_S = np.zeros(len(expected_SA))
    for _ in range(10 * mdp.horizon):
        q_SA = np.where(mdp.exists, expected_SA + 0.9 * (mdp.probability * value_S[mdp.next]).sum(-1), -np.inf)
        best = q_SA.max(-1)
        best[mdp.end] = 0.0
        if np.abs(best - value_S).max() < 1e-12:
            break
        value_S = best
    q_SA[mdp.end] = 0.0
    return q_SA
