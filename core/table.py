"""The step table: one row a step, columns of integers and floats. It is all that credit sees.

Worked example: two episodes of one task, the first of two steps::

    group    0  0  0
    episode  7  7  9
    turn     0  1  0
    anchor   a  b  a      64-bit keys; equal within a group = the same true state
    action   x  y  z      64-bit keys
    reward   0  1  0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cairn.core.errors import CairnError
from cairn.core.keys import text_key
from cairn.core.records import Episode

Ids = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class StepTable:
    """Columns over N step rows, sorted by (group, episode, turn); `order` leads back to the caller's rows."""

    group: Ids  # [N] dense, 0..G-1
    episode: Ids  # [N] dense, 0..E-1, in order of appearance here
    turn: Ids  # [N] 0, 1, ... without gaps within an episode
    anchor: Keys  # [N] state in which the action was taken; comparable within a group only
    action: Keys  # [N]
    reward: Floats  # [N] sum of channels
    valid: Flags  # [N] the reply had the right format
    order: Ids  # [N] row i here is row order[i] of what the caller gave

    @classmethod
    def from_columns(
        cls,
        *,
        group: npt.ArrayLike,
        episode: npt.ArrayLike,
        turn: npt.ArrayLike,
        anchor: npt.ArrayLike,
        action: npt.ArrayLike,
        reward: npt.ArrayLike,
        valid: npt.ArrayLike | None = None,
    ) -> StepTable:
        """Build a table from arrays of N, in any row order. Ids are integers from -2**63; keys, up to 2**64 - 1.

        Raises:
            CairnError: naming the row: lengths differ, an id is no 64-bit integer, a reward is not finite, a turn is
                missing or twice there, or an episode is split over two groups.
        """
        groups, episodes, turns = (
            _integers(name, x).astype(np.int64) for name, x in (("group", group), ("episode", episode), ("turn", turn))
        )
        anchors, actions = (_integers(name, x) for name, x in (("anchor", anchor), ("action", action)))
        rewards = np.asarray(reward, np.float64).reshape(-1)
        valids = np.ones(len(groups), np.bool_) if valid is None else np.asarray(valid, np.bool_).reshape(-1)
        columns = {
            "group": groups,
            "episode": episodes,
            "turn": turns,
            "anchor": anchors,
            "action": actions,
            "reward": rewards,
            "valid": valids,
        }
        sizes = {name: len(column) for name, column in columns.items()}
        if len(set(sizes.values())) != 1:
            raise CairnError(f"StepTable: every column needs one value a row, got lengths {sizes}")
        if not np.isfinite(rewards).all():
            row = int(np.flatnonzero(~np.isfinite(rewards))[0])
            raise CairnError(f"StepTable: reward must be finite, got {rewards[row]!r} in row {row}")
        order = np.lexsort((turns, episodes, groups))
        _check_episodes(groups[order], episodes[order], turns[order], order)
        return cls(
            group=_dense(groups[order]),
            episode=_dense_sorted(episodes[order]),
            turn=turns[order],
            anchor=anchors[order],
            action=actions[order],
            reward=rewards[order],
            valid=valids[order],
            order=order,
        )

    @classmethod
    def from_episodes(cls, episodes: Sequence[Episode]) -> StepTable:
        """Build a table of all turns of `episodes`, rows in the order of the episodes; failed ones are refused."""
        for episode in episodes:
            if episode.is_failed:
                raise CairnError(
                    f"StepTable: leave failed episodes out; task {episode.task.task_id!r} failed: {episode.ending}"
                )
        rows = [(e.group_id, i, t, turn) for i, e in enumerate(episodes) for t, turn in enumerate(e.turns)]
        return cls.from_columns(
            group=[g for g, _, _, _ in rows],
            episode=[i for _, i, _, _ in rows],
            turn=[t for _, _, t, _ in rows],
            anchor=[turn.observation.anchor for *_, turn in rows],
            action=[text_key(turn.action) for *_, turn in rows],
            reward=[turn.reward for *_, turn in rows],
            valid=[turn.is_valid for *_, turn in rows],
        )

    def __len__(self) -> int:
        return len(self.group)

    @property
    def num_episodes(self) -> int:
        """How many episodes there are."""
        return int(self.episode[-1]) + 1 if len(self) else 0

    @property
    def first_rows(self) -> Ids:
        """Row of each episode's first step, [E]."""
        return np.flatnonzero(self.turn == 0)

    def to_caller(self, values: Floats) -> Floats:
        """Return per-row values in the caller's row order."""
        out = np.empty_like(values)
        out[self.order] = values
        return out


def _integers(name: str, values: npt.ArrayLike) -> Keys:
    """Return one column exactly; negative values as two's complement.

    A list goes through Python's integers: NumPy makes float64 of one that holds keys below and above 2**63.
    """
    array = (np.array(values, object) if isinstance(values, (list, tuple)) else np.asarray(values)).reshape(-1)
    if array.dtype.kind in "iub":
        return array.astype(np.uint64)
    for row, value in enumerate(array):
        is_float = isinstance(value, (float, np.floating))
        is_whole = float(value).is_integer() if is_float else isinstance(value, (int, np.integer))
        if not is_whole or not -(1 << 63) <= int(value) < 1 << 64:
            raise CairnError(f"StepTable: {name} must be an integer of 64 bits, got {value!r} in row {row}")
    return np.array([int(value) % (1 << 64) for value in array], np.uint64)


def _dense(ids: Ids) -> Ids:
    return np.unique(ids, return_inverse=True)[1].astype(np.int64)


def _dense_sorted(ids: Ids) -> Ids:
    """Number runs of equal ids 0, 1, ... in order of appearance."""
    if not len(ids):
        return ids
    return np.concatenate([[0], np.cumsum(ids[1:] != ids[:-1])]).astype(np.int64)


def _check_episodes(group: Ids, episode: Ids, turn: Ids, order: Ids) -> None:
    if not len(group):
        return
    pairs = np.unique(np.stack([episode, group]), axis=1)
    split = np.flatnonzero(pairs[0, 1:] == pairs[0, :-1])
    if len(split):
        raise CairnError(
            f"StepTable: episode {pairs[0, split[0]]} has rows in groups {pairs[1, split[0]]} "
            f"and {pairs[1, split[0] + 1]}"
        )
    is_first = np.concatenate([[True], episode[1:] != episode[:-1]])
    expected = np.where(is_first, 0, np.concatenate([[0], turn[:-1] + 1]))
    wrong = np.flatnonzero(turn != expected)
    if len(wrong):
        row = int(wrong[0])
        what = "twice there" if turn[row] == expected[row] - 1 else "not the next one"
        raise CairnError(
            f"StepTable: turn {turn[row]} of episode {episode[row]} is {what} (row {order[row]}); "
            f"expected turn {expected[row]}"
        )
