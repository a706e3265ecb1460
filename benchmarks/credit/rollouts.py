"""Samples episodes of a policy in a problem, and builds the step table for credit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cairn.benchmarks.credit.mdp import MDP
from cairn.core.table import Floats, Ids, StepTable


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """N steps, episode by episode: the credit's input `table`, and columns hidden from it."""

    table: StepTable
    state: Ids  # [N]
    choice: Ids  # [N] column of the action in the problem's arrays
    turn: Ids  # [N]


def sample(mdp: MDP, policy_SA: Floats, groups: int, size: int, seed: int) -> Rows:
    """Return `groups` groups of `size` episodes each."""
    rng = np.random.default_rng(seed)
    count = groups * size
    cumulative_SA, odds_SAO = policy_SA.cumsum(-1), mdp.probability.cumsum(-1)
    state_B, alive_B = np.zeros(count, np.int64), np.ones(count, np.bool_)
    columns: list[tuple[Ids, Ids, Ids, Ids, Floats]] = []
    for t in range(mdp.horizon):
        rows = np.flatnonzero(alive_B)
        if not len(rows):
            break
        s = state_B[rows]
        a = _draw(cumulative_SA[s], rng)
        o = _draw(odds_SAO[s, a], rng)
        x = mdp.next[s, a, o]
        columns.append((rows, np.full(len(rows), t), s, a, mdp.reward[s, a, o]))
        state_B[rows] = x
        alive_B[rows] = x != mdp.end
    episode, turn, s, a, reward = (np.concatenate(column) for column in zip(*columns, strict=True))
    return _rows(mdp, size, episode, turn, s, a, reward, state_B)


def _draw(cumulative: Floats, rng: np.random.Generator) -> Ids:
    chosen = (rng.random((len(cumulative), 1)) * cumulative[:, -1:] >= cumulative).sum(-1)
    out: Ids = np.minimum(chosen, cumulative.shape[1] - 1)
    return out


def _rows(
    mdp: MDP, size: int, episode: Ids, turn: Ids, state: Ids, choice: Ids, reward: Floats, last_state_B: Ids
) -> Rows:
    order = np.lexsort((turn, episode))
    episode, turn, state, choice, reward = episode[order], turn[order], state[order], choice[order], reward[order]
    following = np.append(state[1:], 0)
    is_last = np.append(episode[1:] != episode[:-1], True)
    following[is_last] = last_state_B[episode[is_last]]
    table = StepTable.from_columns(
        group=episode // size,
        episode=episode,
        turn=turn,
        anchor=mdp.anchor[state],
        action=mdp.action[state, choice],
        reward=reward,
        next_anchor=mdp.anchor[following],
        truncated=(last_state_B != mdp.end)[episode],
        is_deterministic=mdp.is_deterministic,
    )
    return Rows(table=table, state=state, choice=choice, turn=turn)
