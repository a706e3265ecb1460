"""What a run's store holds, as records: rows of episodes and turns, and whole episodes again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cairn.core.keys import signed, unsigned
from cairn.core.records import Box, Ending, Episode, Observation, Task, Tokens, Turn
from cairn.core.store.blobs import Body
from cairn.core.store.store import RunStore

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeRow:
    """One episode without its turns; see `core.store.schema`."""

    id: int
    step: int
    phase: str
    env: str
    task: str
    split: str
    type: str
    group_id: int
    seed: int
    origin: Any  # Any: one of core.records.Origin, which SQLite gives as text
    parent: str | None
    fork_turn: int | None
    ending: Any  # Any: an ending's kind, likewise
    cause: Any  # Any: an ending's cause, likewise
    detail: str
    score: float | None
    success: bool | None
    reward: float
    turns: int
    final_anchor: int | None
    prompt_tokens: int | None
    reply_tokens: int | None
    cost: float | None
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """One turn without its texts."""

    episode: int
    turn: int
    anchor: int
    action: str
    reward: float
    valid: bool
    version: int | None
    seconds: float | None
    channels: dict[str, float]
    extends: bool
    logprob: float | None
    prompt_tokens: int | None
    cached_tokens: int | None
    reply_tokens: int | None
    cost: float | None
    acted: Box | None


_OF_TASK = ("env", "task", "split", "type")
_EPISODE_FIELDS = tuple(f.name for f in fields(EpisodeRow))
_TURN_FIELDS = tuple(f.name for f in fields(TurnRow))
_EPISODE_COLUMNS = ", ".join(("t." if name in _OF_TASK else "e.") + name for name in _EPISODE_FIELDS)
_TURN_COLUMNS = ", ".join(_TURN_FIELDS)
_FILTERS = {
    "ids": "e.id IN (SELECT value FROM json_each(?))",
    "phase": "e.phase = ?",
    "step": "e.step = ?",
    "group": "e.group_id = ?",
    "task": "t.task = ?",
}


def episodes(
    store: RunStore,
    *,
    ids: Sequence[int] | None = None,
    phase: str | None = None,
    step: int | None = None,
    group: int | None = None,
    task: str | None = None,
    limit: int = -1,
    offset: int = 0,
) -> list[EpisodeRow]:
    """Return episodes, in the order they were stored; None: whatever it is; a negative limit: all."""
    listed = None if ids is None else json.dumps(list(ids))
    asked = {"ids": listed, "phase": phase, "step": step, "group": group, "task": task}
    wanted = {name: value for name, value in asked.items() if value is not None}
    where = " AND ".join(_FILTERS[name] for name in wanted) or "1"
    sql = (
        f"SELECT {_EPISODE_COLUMNS} FROM episodes e JOIN tasks t ON t.id = e.task "
        f"WHERE {where} ORDER BY e.id LIMIT ? OFFSET ?"
    )
    return [_episode_row(row) for row in store.rows(sql, (*wanted.values(), limit, offset))]


def turns(store: RunStore, chosen: Sequence[int]) -> dict[int, list[TurnRow]]:
    """Return the turns of the episodes of these numbers."""
    found: dict[int, list[TurnRow]] = {episode: [] for episode in chosen}
    sql = f"SELECT {_TURN_COLUMNS} FROM turns WHERE episode IN (SELECT value FROM json_each(?)) ORDER BY episode, turn"
    for row in store.rows(sql, (json.dumps(list(chosen)),)):
        found[row[0]].append(_turn_row(row))
    return found


def advantages(store: RunStore, episode: int) -> dict[str, Floats]:
    """Return the advantages of an episode's turns, by method."""
    sql = 'SELECT method, "values" FROM advantages WHERE episode = ? ORDER BY method'
    return {method: np.frombuffer(values, np.float64) for method, values in store.rows(sql, (episode,))}


def image(store: RunStore, episode: int, turn: int) -> bytes | None:
    """Return what there was to see at a turn, as PNG."""
    found = store.rows("SELECT png FROM images WHERE episode = ? AND turn = ?", (episode, turn))
    return found[0][0] if found else None


def visits(store: RunStore, anchor: int, limit: int) -> list[tuple[int, int]]:
    """Return (episode, turn) of the first turns at an anchor."""
    sql = "SELECT episode, turn FROM turns WHERE anchor = ? ORDER BY episode, turn LIMIT ?"
    return [(episode, turn) for episode, turn in store.rows(sql, (signed(anchor), limit))]


def whole_episodes(store: RunStore, chosen: Sequence[EpisodeRow]) -> Iterator[Episode]:
    """Give episodes as they were added, but for what is not stored: texts that were forgotten are empty."""
    for row in chosen:
        yield _whole(store, row, turns(store, [row.id])[row.id], store.body(row.id))


# -- helpers -----------------------------------------------------------------------------------------------------------


def _episode_row(row: Sequence[Any]) -> EpisodeRow:  # Any: SQLite's column types
    values = dict(zip(_EPISODE_FIELDS, row, strict=True))
    values["success"] = None if values["success"] is None else bool(values["success"])
    values["final_anchor"] = None if values["final_anchor"] is None else unsigned(values["final_anchor"])
    return EpisodeRow(**values)


def _turn_row(row: Sequence[Any]) -> TurnRow:  # Any: SQLite's column types
    values = dict(zip(_TURN_FIELDS, row, strict=True))
    values["anchor"] = unsigned(values["anchor"])
    values["valid"], values["extends"] = bool(values["valid"]), bool(values["extends"])
    values["channels"] = json.loads(values["channels"]) if values["channels"] else {}
    values["acted"] = tuple(json.loads(values["acted"])) if values["acted"] else None
    return TurnRow(**values)


def _whole(store: RunStore, row: EpisodeRow, listed: Sequence[TurnRow], body: Body | None) -> Episode:
    seen = [*body.observations, body.final or ""] if body is not None else [""] * (len(listed) + 1)
    replies = body.replies if body is not None else [""] * len(listed)
    ids, notes = _split(body, listed), body.notes if body is not None else ((),) * len(listed)

    def observation(turn: int, anchor: int) -> Observation:
        return Observation(text=seen[turn], anchor=anchor, image=image(store, row.id, turn))

    return Episode(
        task=Task(env_id=row.env, task_id=row.task, split=row.split, seed=row.seed),
        group_id=row.group_id,
        turns=tuple(
            replace(_turn(turn, observation(t, turn.anchor), replies[t], *ids[t]), notes=notes[t])
            for t, turn in enumerate(listed)
        ),
        ending=Ending(kind=row.ending, cause=row.cause, detail=row.detail),
        score=row.score,
        success=row.success,
        final=None if row.final_anchor is None else observation(len(listed), row.final_anchor),
        origin=row.origin,
        parent=row.parent,
        fork_turn=row.fork_turn,
    )


def _turn(
    row: TurnRow, observation: Observation, reply: str, prompt_ids: Any, reply_ids: Any, logprobs: Any
) -> Turn:  # Any: arrays, or None
    return Turn(
        observation=observation,
        reply_text=reply,
        action=row.action,
        reward=row.reward,
        is_valid=row.valid,
        channels=row.channels,
        prompt_ids=prompt_ids,
        extends_previous=row.extends,
        reply_ids=reply_ids,
        reply_logprobs=logprobs,
        tokens=None if reply_ids is not None else _tokens(row),
        policy_version=row.version,
        seconds=row.seconds,
        acted=row.acted,
    )


def _tokens(turn: TurnRow) -> Tokens | None:
    if turn.prompt_tokens is None:
        return None
    return Tokens(
        prompt=turn.prompt_tokens, cached=turn.cached_tokens or 0, reply=turn.reply_tokens or 0, cost=turn.cost
    )


def _split(body: Body | None, listed: Sequence[TurnRow]) -> list[tuple[Any, Any, Any]]:  # Any: arrays, or None
    """Return each turn's prompt ids, reply ids and logprobs; None where it has none."""
    if body is None or not len(body.reply_ids):
        return [(None, None, None)] * len(listed)
    replies = np.cumsum([turn.reply_tokens or 0 for turn in listed])[:-1]
    prompts = np.cumsum([(turn.prompt_tokens or 0) - (turn.cached_tokens or 0) for turn in listed])[:-1]
    none = [None] * len(listed)
    return list(
        zip(
            np.split(body.prompt_ids, prompts) if len(body.prompt_ids) else none,
            np.split(body.reply_ids, replies),
            np.split(body.reply_logprobs, replies) if len(body.reply_logprobs) else none,
            strict=True,
        )
    )
