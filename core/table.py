"""The step table: one row per step, columns of integers and floats.

Credit methods see nothing else.

Worked example: two episodes of one task, the first of two steps::

    group         0  0  0
    episode       7  7  9
    turn          0  1  0
    anchor        a  b  a      64-bit keys; equal within a group = the same true state
    action        x  y  z      64-bit keys
    next_anchor   b  c  d      state after the step; read in an episode's last row only, may be left out
    reward        0  1  0

It holds no text and no tokens: texts become keys when a step is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cairn.core._columns import (
    Flags,
    Floats,
    Ids,
    Keys,
    check_episodes,
    check_finite,
    check_lengths,
    flags,
    floats,
    given,
    ids,
    integers,
    keys,
    scorable,
)
from cairn.core.errors import CairnError
from cairn.core.keys import mix_keys, text_key
from cairn.core.records import Episode

__all__ = ["Flags", "Floats", "Ids", "Keys", "StepTable"]

T = TypeVar("T", bound=np.generic)
_OVER, _UNKNOWN = 0x0EAD, 0x0F00  # scopes of the keys of states that were not recorded


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class StepTable:
    """Columns over N step rows, sorted by (group, episode, turn).

    `order` maps to the caller's rows.
    """

    group: Ids  # [N] dense, 0..G-1
    episode: Ids  # [N] dense, 0..E-1, in order of appearance here
    turn: Ids  # [N] 0, 1, ... without gaps within an episode
    anchor: Keys  # [N] state in which the action was taken; comparable within a group only
    action: Keys  # [N]
    next_anchor: Keys  # [N] state after the step; a unique key if it is not known
    knows_next: Flags  # [N] whether the state after the step is known
    reward: Floats  # [N]
    valid: Flags  # [N] the reply had the right format
    success: Flags  # [N] whether the row's episode solved its task
    truncated: Flags  # [N] whether a budget ended the row's episode
    trained: Flags  # [N] False: a forced, spliced or masked step, whose advantage is 0
    order: Ids  # [N] row i here is row order[i] of the caller's columns
    num_rows: int  # rows that the caller gave
    num_unscorable: int = 0  # episodes left out because a reward is NaN
    is_deterministic: bool = False  # the environment declares that state and action determine the next state
    channels: Mapping[str, Floats] = field(
        default_factory=dict
    )  # [N] each: parts of the reward, tests passed, ...; NaN: no value
    parts: tuple[str, ...] = ()  # names of the channels that add up to the reward; (): not known
    length: Floats | None = None  # [N] tokens of the reply
    logprob: Floats | None = None  # [N] mean logprob of the reply's tokens
    value: Floats | None = None  # [N] estimate of the state's value, from the source that the method names
    final_value: Floats | None = None  # [N] the same for the state after the episode's last row; read there only
    role: Keys | None = None  # [N] which agent acted
    past: Flags | None = None  # [N] the episode is of an earlier update: used as evidence, gets no advantage itself
    node: Keys | None = None  # [N] node of a rollout tree after the step; equal keys: the same sampled step

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
        next_anchor: npt.ArrayLike | None = None,
        knows_next: npt.ArrayLike | None = None,
        success: npt.ArrayLike | None = None,
        truncated: npt.ArrayLike | None = None,
        trained: npt.ArrayLike | None = None,
        channels: Mapping[str, npt.ArrayLike] | None = None,
        parts: Sequence[str] = (),
        length: npt.ArrayLike | None = None,
        logprob: npt.ArrayLike | None = None,
        value: npt.ArrayLike | None = None,
        final_value: npt.ArrayLike | None = None,
        role: npt.ArrayLike | None = None,
        node: npt.ArrayLike | None = None,
        past: npt.ArrayLike | None = None,
        is_deterministic: bool = False,
        allow_unscorable: bool = False,
    ) -> StepTable:
        """Build a table from arrays of N, in any row order.

        Ids (group, episode) are integers from -2**63, or texts. Keys (anchor, action, role, node) are integers up to
        2**64 - 1, or texts, which are compared by their 64-bit keys.

        Defaults: every reply is valid and trained on, no episode is truncated, and an episode whose rewards sum to more
        than 0 is a success. `success`, `truncated`, `past` are facts of the episode, repeated in each row. Without
        `next_anchor`, the anchor after an episode's last row is "over" for a terminated episode (one for successes, one
        for others) and a unique state for a truncated one.

        Args:
            group: id of each row's group.
            knows_next: where False, `next_anchor` is not read because the state was not recorded; default: all are
                known.
            channels: NaN where a row has no value; methods that need a value in every row document this.
            parts: names of the channels that are parts of the reward.
            allow_unscorable: a NaN reward means that the episode could not be scored: its rows are left out, it is
                counted in `num_unscorable`, and has advantage 0. Otherwise NaN is an error.

        Raises:
            CairnError: no rows, different lengths, an id that is not a 64-bit integer, a number that is not finite, a
                missing or repeated turn, an episode in two groups, an episode that is a success in one row and not in
                another, a `next_anchor` that is not the anchor of the episode's next row, or a part that is not a
                channel. The message names the row.
        """
        if missing := [name for name, x in (("anchor", anchor), ("action", action), ("reward", reward)) if x is None]:
            raise CairnError(f"StepTable: the column {missing[0]!r} is needed, got None")
        named_ids = {name: ids(name, x) for name, x in (("group", group), ("episode", episode))}
        numbered = {name: found for name, (found, _) in named_ids.items()}
        numbered["turn"] = integers("turn", turn).astype(np.int64)
        compared = {
            name: keys(name, x)
            for name, x in given(anchor=anchor, action=action, next_anchor=next_anchor, role=role, node=node)
        }
        truths = {
            name: flags(name, x)
            for name, x in given(
                valid=valid, success=success, truncated=truncated, trained=trained, past=past, knows_next=knows_next
            )
        }
        numbers = {
            name: floats(name, x)
            for name, x in given(reward=reward, length=length, logprob=logprob, value=value, final_value=final_value)
        }
        named = {name: floats(f"channel {name!r}", x) for name, x in (channels or {}).items()}
        if unknown := [name for name in parts if name not in named]:
            raise CairnError(f"StepTable: parts of the reward must be channels; got {unknown}, known: {sorted(named)}")
        columns: dict[str, npt.NDArray[Any]] = {**numbered, **compared, **truths, **numbers}  # Any: of several types
        check_lengths({**columns, **{f"channel {name!r}": x for name, x in named.items()}})
        kept, num_unscorable = scorable(columns, allow_unscorable)
        check_finite(
            {**numbers, **{f"channel {name!r}": np.where(np.isnan(x), 0.0, x) for name, x in named.items()}}, kept
        )
        order = np.flatnonzero(kept)
        order = order[np.lexsort(tuple(numbered[name][order] for name in ("turn", "episode", "group")))]
        check_episodes(columns, order, {name: texts for name, (_, texts) in named_ids.items()})
        sorted_ = {name: column[order] for name, column in columns.items()}
        return cls(
            **_completed(sorted_, order),
            order=order,
            num_rows=len(kept),
            num_unscorable=num_unscorable,
            is_deterministic=is_deterministic,
            channels={name: x[order] for name, x in named.items()},
            parts=tuple(parts),
        )

    @classmethod
    def from_episodes(
        cls,
        episodes: Sequence[Episode],
        *,
        anchor: npt.ArrayLike | None = None,
        parts: Sequence[str] = (),
        is_deterministic: bool = False,
    ) -> StepTable:
        """Build a table of all turns of `episodes`, with rows in the order of the episodes.

        Args:
            episodes: none of them failed.
            anchor: keys that replace the environment's, one per turn; the states after the last turns are then unknown.
            parts: names of the channels that are parts of the reward, as declared by the environment.
            is_deterministic: as declared by the environment.

        Raises:
            CairnError: an episode failed, or no turn has a channel that is a part.
        """
        for episode in episodes:
            if episode.is_failed:
                raise CairnError(
                    f"StepTable: leave failed episodes out; task {episode.task.task_id!r} failed: {episode.ending}"
                )
        rows = [(e, i, t, turn) for i, e in enumerate(episodes) for t, turn in enumerate(e.turns)]
        following = [_next_anchor(e, t) for e, _, t, _ in rows]
        names = sorted({name for *_, turn in rows for name in turn.channels})
        return cls.from_columns(
            group=[e.group_id for e, *_ in rows],
            episode=[i for _, i, _, _ in rows],
            turn=[t for _, _, t, _ in rows],
            anchor=[turn.observation.anchor for *_, turn in rows] if anchor is None else anchor,
            action=[text_key(turn.action) for *_, turn in rows],
            next_anchor=[key or 0 for key in following] if anchor is None else None,
            knows_next=[key is not None for key in following] if anchor is None else None,
            reward=[turn.reward for *_, turn in rows],
            valid=[turn.is_valid for *_, turn in rows],
            success=[bool(e.success) for e, *_ in rows],
            truncated=[e.ending.kind == "truncated" for e, *_ in rows],
            channels={name: [turn.channels.get(name, np.nan) for *_, turn in rows] for name in names},
            parts=parts,
            length=[0 if turn.reply_ids is None else len(turn.reply_ids) for *_, turn in rows],
            logprob=_mean_logprobs([turn.reply_logprobs for *_, turn in rows]),
            is_deterministic=is_deterministic,
        )

    @classmethod
    def from_messages(
        cls,
        episodes: Sequence[Sequence[Mapping[str, Any]]],  # Any: JSON
        *,
        group: Sequence[int | str],
        reward: Sequence[float | Sequence[float]],
        anchor: Sequence[Sequence[int | str]] | None = None,
        success: Sequence[bool] | None = None,
        truncated: Sequence[bool] | None = None,
    ) -> StepTable:
        """Build a table from conversations.

        Each message of the assistant is a step, whose action is its whole content.

        Args:
            episodes: lists of messages with ``role``, ``content`` and optionally more, such as ``tool_calls``.
            group: of each episode.
            reward: of each episode, earned at its end; or of each of its steps.
            anchor: of each step of each episode; None: the key of all messages before the step, so steps share a state
                if their conversations are equal up to then.
            success: of each episode; None: its rewards sum to more than 0.
            truncated: whether a budget ended each episode; None: none.

        Raises:
            CairnError: an episode has no message of the assistant, or lengths differ; see `from_columns`.
        """
        steps = [[n for n, message in enumerate(each) if message.get("role") == "assistant"] for each in episodes]
        for name, column in given(group=group, reward=reward, anchor=anchor, success=success, truncated=truncated):
            if (size := len(column)) != len(episodes):  # type: ignore[arg-type]  # all are sequences
                raise CairnError(f"StepTable: {name} needs one value an episode, {len(episodes)}, got {size}")
        rows = [(e, t, n) for e, places in enumerate(steps) for t, n in enumerate(places)]
        if empty := [e for e, places in enumerate(steps) if not places]:
            raise CairnError(f"StepTable: episode {empty[0]} has no message of the assistant")
        rewards = [
            list(each) if isinstance(each, Sequence) else [0.0] * (len(places) - 1) + [float(each)]
            for each, places in zip(reward, steps, strict=True)
        ]
        states = [
            [_json_key(each[:n]) for n in places] if anchor is None else list(anchor[e])
            for e, (each, places) in enumerate(zip(episodes, steps, strict=True))
        ]
        for name, values in (("reward", rewards), ("anchor", states)):
            if wrong := [e for e, each in enumerate(values) if len(each) != len(steps[e])]:
                raise CairnError(
                    f"StepTable: episode {wrong[0]} has {len(steps[wrong[0]])} steps, and {name} has "
                    f"{len(values[wrong[0]])} values for it"
                )
        return cls.from_columns(
            group=[group[e] for e, *_ in rows],
            episode=[e for e, *_ in rows],
            turn=[t for _, t, _ in rows],
            anchor=[state for each in states for state in each],
            action=[_json_key(episodes[e][n]) for e, _, n in rows],
            reward=[value for each in rewards for value in each],
            success=None if success is None else [success[e] for e, *_ in rows],
            truncated=None if truncated is None else [truncated[e] for e, *_ in rows],
        )

    def __len__(self) -> int:
        return len(self.group)

    def __repr__(self) -> str:
        optional = ("length", "logprob", "value", "final_value", "role", "past", "node")
        there = [name for name in optional if getattr(self, name) is not None]
        parts = [f"{len(self)} steps of {self.num_episodes} episodes in {len(np.unique(self.group))} groups"]
        parts += [f"columns: {', '.join(there)}"] if there else []
        parts += [f"channels: {', '.join(self.channels)}"] if self.channels else []
        parts += [f"{self.num_unscorable} episodes left out"] if self.num_unscorable else []
        return f"StepTable({'; '.join(parts)})"

    @property
    def num_episodes(self) -> int:
        """Number of episodes."""
        return int(self.episode[-1]) + 1 if len(self) else 0

    @property
    def first_rows(self) -> Ids:
        """Row of each episode's first step, [E]."""
        return np.flatnonzero(self.turn == 0)

    @property
    def is_last(self) -> Flags:
        """Whether each row is its episode's last, [N]."""
        return np.append(self.turn[1:] == 0, True)[: len(self)]

    def channel(self, name: str, absent: float | None = None) -> Floats:
        """Return a channel, float64 [N]; a row without a value gets `absent`.

        Raises:
            CairnError: the table has no such channel; or a row has no value, and `absent` is None.
        """
        if name not in self.channels:
            raise CairnError(
                f"StepTable: expected a channel {name!r}, got {sorted(self.channels)}; "
                "give it to StepTable.from_columns in `channels`, one value a row"
            )
        found = self.channels[name]
        if absent is not None:
            return np.where(np.isnan(found), absent, found)
        if np.isnan(found).any():
            row = int(self.order[np.flatnonzero(np.isnan(found))[0]])
            raise CairnError(f"StepTable: every row needs the channel {name!r} here; row {row} has none (NaN)")
        return found

    def to_caller(self, values: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return per-row values in the caller's row order.

        Rows of unscorable episodes get 0 or False.
        """
        out = np.zeros(self.num_rows, values.dtype)
        out[self.order] = values
        return out


def _completed(columns: dict[str, npt.NDArray[Any]], order: Ids) -> dict[str, Any]:  # Any: of several types
    """Return the sorted columns with dense ids, and with defaults for missing columns."""
    n = len(order)
    reward, turn = columns["reward"], columns["turn"]
    episode = np.cumsum(turn == 0) - 1
    columns = {
        **columns,
        "group": np.unique(columns["group"], return_inverse=True)[1].astype(np.int64),
        "episode": episode,
    }
    for name in ("valid", "trained"):
        columns.setdefault(name, np.ones(n, np.bool_))
    columns.setdefault("truncated", np.zeros(n, np.bool_))
    columns.setdefault("success", (np.bincount(episode, reward) > 0)[episode])
    if "next_anchor" in columns:
        knows = columns.setdefault("knows_next", np.ones(n, np.bool_))
        columns["next_anchor"] = np.where(knows, columns["next_anchor"], _unknown_keys(order))
    else:
        following = np.append(columns["anchor"][1:], np.uint64(0))
        last = np.append(turn[1:] == 0, True)
        over = mix_keys(np.uint64(_OVER), columns["success"].astype(np.uint64))
        columns["knows_next"] = ~(last & columns["truncated"])
        following[last] = np.where(columns["truncated"], _unknown_keys(order), over)[last]
        columns["next_anchor"] = following
    return columns


def _unknown_keys(rows: Ids) -> Keys:
    """Return one unique key per row."""
    return mix_keys(np.uint64(_UNKNOWN), rows.astype(np.uint64))


def _json_key(value: Any) -> int:  # Any: JSON
    return text_key(json.dumps(value, sort_keys=True, ensure_ascii=False))


def _next_anchor(episode: Episode, turn: int) -> int | None:
    if turn + 1 < len(episode.turns):
        return episode.turns[turn + 1].observation.anchor
    return None if episode.final is None else episode.final.anchor


def _mean_logprobs(logprobs: Sequence[npt.NDArray[np.float32] | None]) -> Floats | None:
    """Return the mean of each row, or None if a row has no logprobs."""
    if not all(x is not None and len(x) for x in logprobs):
        return None
    return np.array([float(np.mean(x, dtype=np.float64)) for x in logprobs if x is not None])
