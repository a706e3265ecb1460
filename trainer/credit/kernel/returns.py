"""Sums along episodes: scores, discounted returns, and GAE over turns."""

from __future__ import annotations

import numpy as np

from cairn.core.table import Floats, Ids, StepTable


def scores(table: StepTable) -> Floats:
    """Return each episode's undiscounted sum of rewards, float64 [E]."""
    return np.bincount(table.episode, table.reward, table.num_episodes).astype(np.float64)


def returns(table: StepTable, reward: Floats, gamma: float) -> Floats:
    """Return discounted returns ``R_t = r_t + gamma R_{t+1}`` within each episode; float64 [N].

    One vector operation per turn index: cost O(N + longest episode).
    """
    return discounted(table, reward, np.full(len(table), gamma))


def discounted(table: StepTable, x: Floats, carry: Floats) -> Floats:
    """Return ``y_t = x_t + carry_t y_{t+1}`` within each episode, 0 after its end; float64 [N]."""
    out = x.astype(np.float64, copy=True)
    for rows in reversed(rows_by_turn(table.turn)[1:]):
        out[rows - 1] += carry[rows - 1] * out[rows]
    return out


def rows_by_turn(turn: Ids) -> list[Ids]:
    """Return the rows of turn 0, of turn 1, and so on, one array per turn index."""
    return np.split(np.argsort(turn, kind="stable"), np.cumsum(np.bincount(turn))[:-1])


def following(table: StepTable, x: Floats, last: Floats | float = 0.0) -> Floats:
    """Return the value of the next row of the same episode, or `last` at its end; float64 [N]."""
    out = np.append(x[1:], 0.0)
    out[table.is_last] = np.broadcast_to(last, len(x))[table.is_last]
    return out


def gae(table: StepTable, value: Floats, final: Floats | float, gamma: float, lam: float) -> Floats:
    """Return generalised advantage estimates over turns, float64 [N].

    ``A_t = delta_t + gamma lam A_{t+1}`` with ``delta_t = r_t + gamma V_{t+1} - V_t``.

    `value` is V_t, `final` the value of the state after an episode's last row. lam = 1: the return minus V_t.
    """
    delta = table.reward + gamma * following(table, value, final) - value
    return discounted(table, delta, np.full(len(table), gamma * lam))
