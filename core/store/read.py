"""Typed reading of a run store: rows of episodes and turns, and whole episodes.

SQLite accepts any value in any column. This module checks types and lengths as it reads, and raises a `CairnError` that
names the file and the fault.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cairn.core.keys import signed, unsigned
from cairn.core.records import Box, Ending, Episode, Observation, Task, Tokens, Turn
from cairn.core.store.blobs import Body
from cairn.core.store.store import RunStore

Floats = npt.NDArray[np.float64]
_FLOAT_BYTES = 8
_AT_ONCE = 256  # episodes that are read together
T = TypeVar("T")


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
    origin: Any  # Any: one of core.records.Origin, which SQLite returns as text
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
    """Return episodes in the order they were stored.

    A filter that is None matches all; a negative limit means no limit.
    """
    listed = None if ids is None else json.dumps(list(ids))
    asked = {"ids": listed, "phase": phase, "step": step, "group": group, "task": task}
    wanted = {name: value for name, value in asked.items() if value is not None}
    where = " AND ".join(_FILTERS[name] for name in wanted) or "1"
    sql = (
        f"SELECT {_EPISODE_COLUMNS} FROM episodes e JOIN tasks t ON t.id = e.task "
        f"WHERE {where} ORDER BY e.id LIMIT ? OFFSET ?"
    )
    return records(store, EpisodeRow, sql, (*wanted.values(), limit, offset))


def turns(store: RunStore, chosen: Sequence[int]) -> dict[int, list[TurnRow]]:
    """Return the turns of these episodes, by episode number."""
    found: dict[int, list[TurnRow]] = {episode: [] for episode in chosen}
    sql = f"SELECT {_TURN_COLUMNS} FROM turns WHERE episode IN (SELECT value FROM json_each(?)) ORDER BY episode, turn"
    for row in records(store, TurnRow, sql, (json.dumps(list(chosen)),)):
        found[row.episode].append(row)
    return found


def records(store: RunStore, kind: type[T], sql: str, values: Sequence[object] = ()) -> list[T]:
    """Return the rows of a query, whose columns are the fields of `kind` in their order.

    Raises:
        CairnError: a cell's type does not match its field, or a cell cannot be parsed.
    """
    named = _fields(kind)  # type: ignore[arg-type]  # types are hashable
    columns: list[Sequence[Any]] = []  # Any: SQLite's column types
    for (name, allowed, convert), cells in zip(named, zip(*store.rows(sql, values), strict=True), strict=False):
        if wrong := set(map(type, cells)) - allowed:
            raise store.damaged(f"{name!r} of a {kind.__name__} is {min(each.__name__ for each in wrong)}")
        try:
            columns.append(cells if convert is None else list(map(convert, cells)))
        except (ValueError, TypeError, RecursionError) as error:
            raise store.damaged(f"{name!r} of a {kind.__name__} cannot be read: {error}") from error
    names = [name for name, _, _ in named]
    return [kind(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


def advantages(store: RunStore, episode: int) -> dict[str, Floats]:
    """Return the advantages of an episode's turns, by method.

    Raises:
        CairnError: the cell is not one float64 per turn.
    """
    sql = (
        'SELECT a.method, a."values", e.turns FROM advantages a JOIN episodes e ON e.id = a.episode '
        "WHERE a.episode = ? ORDER BY a.method"
    )
    found: dict[str, Floats] = {}
    for method, values, count in store.rows(sql, (episode,)):
        if not isinstance(method, str) or not isinstance(values, bytes) or len(values) != _FLOAT_BYTES * count:
            raise store.damaged(f"the advantages {method!r:.40} of episode {episode} are not {count} numbers")
        found[method] = np.frombuffer(values, np.float64)
    return found


def image(store: RunStore, episode: int, turn: int) -> bytes | None:
    """Return the picture of a turn as PNG, or None if none is stored."""
    found = store.rows("SELECT png FROM images WHERE episode = ? AND turn = ?", (episode, turn))
    return found[0][0] if found and isinstance(found[0][0], bytes) else None


def visits(store: RunStore, anchor: int, limit: int) -> list[tuple[int, int]]:
    """Return (episode, turn) of the first turns at an anchor."""
    sql = "SELECT episode, turn FROM turns WHERE anchor = ? ORDER BY episode, turn LIMIT ?"
    return [(episode, turn) for episode, turn in store.rows(sql, (signed(anchor), limit))]


def whole_episodes(store: RunStore, chosen: Sequence[EpisodeRow], *, has_images: bool = True) -> Iterator[Episode]:
    """Yield episodes as they were added, except for parts that are not stored.

    Deleted texts are empty.

    Args:
        store: the run's store.
        chosen: rows of the episodes.
        has_images: whether to load pictures, which may take hundreds of megabytes per episode.

    Raises:
        CairnError: an episode's turns, texts and tokens are inconsistent.
    """
    for row in chosen:
        listed, body = turns(store, [row.id])[row.id], store.body(row.id)
        try:
            yield _whole(row, listed, body, _images(store, row.id) if has_images else {})
        except ValueError as error:
            raise store.damaged(f"episode {row.id}: {error}") from error


def check(store: RunStore) -> None:
    """Check the whole file of a run by reading it.

    Raises:
        CairnError: the file is damaged.
    """
    store.check_file()
    store.meta()
    for name in store.names():
        store.series(name)
    offset = 0
    while chunk := episodes(store, limit=_AT_ONCE, offset=offset):
        offset += len(chunk)
        for row, _ in zip(chunk, whole_episodes(store, chunk, has_images=False), strict=True):
            advantages(store, row.id)
    if offset != store.rows("SELECT count(*) FROM episodes")[0][0]:
        raise store.damaged("it has episodes of tasks that it does not have")


# -- helpers -----------------------------------------------------------------------------------------------------------


def _flag(cell: int | None) -> bool | None:
    if cell not in (0, 1, None):
        raise ValueError(f"expected 0 or 1, got {cell}")
    return None if cell is None else bool(cell)


def _anchor(cell: int | None) -> int | None:
    return None if cell is None else unsigned(cell)


def _channels(cell: str | None) -> dict[str, float]:
    found = json.loads(cell) if cell else {}
    if not isinstance(found, dict) or not all(type(value) in (int, float) for value in found.values()):
        raise ValueError(f"expected numbers by name, got {cell!r:.100}")
    return found


def _box(cell: str | None) -> Box | None:
    if not cell:
        return None
    found = json.loads(cell)
    if not isinstance(found, list) or len(found) != 4 or not all(type(value) is int for value in found):
        raise ValueError(f"expected x, y, width and height, got {cell!r:.100}")
    return (found[0], found[1], found[2], found[3])


Convert = Callable[[Any], Any]  # Any: a cell, and its converted value
_NONE = type(None)
_KINDS: Mapping[str, tuple[set[type], Convert | None]] = {  # by field type: types and conversion of its cells
    "int": ({int}, None),
    "int | None": ({int, _NONE}, None),
    "float": ({float, int}, None),
    "float | None": ({float, int, _NONE}, None),
    "str": ({str}, None),
    "str | None": ({str, _NONE}, None),
    "Any": ({str, _NONE}, None),
    "bool": ({int}, _flag),
    "bool | None": ({int, _NONE}, _flag),
    "dict[str, float]": ({str, _NONE}, _channels),
    "Box | None": ({str, _NONE}, _box),
}


@cache
def _fields(kind: type) -> list[tuple[str, set[type], Convert | None]]:
    named: list[tuple[str, set[type], Convert | None]] = []
    listed: Any = kind  # Any: a dataclass
    for field in fields(listed):
        types, convert = _KINDS[str(field.type)]
        named.append((field.name, types, _anchor if field.name in ("anchor", "final_anchor") else convert))
    return named


def _images(store: RunStore, episode: int) -> dict[int, bytes]:
    sql = "SELECT turn, png FROM images WHERE episode = ?"
    return {turn: png for turn, png in store.rows(sql, (episode,)) if isinstance(png, bytes)}


def _whole(row: EpisodeRow, listed: Sequence[TurnRow], body: Body | None, images: Mapping[int, bytes]) -> Episode:
    """Return an episode, built from its parts.

    Raises:
        ValueError: the parts are inconsistent.
    """
    if [turn.turn for turn in listed] != list(range(row.turns)) and listed:
        raise ValueError(f"expected turns 0 to {row.turns - 1}, got {len(listed)} others")
    if body is not None and {len(body.observations), len(body.replies), len(body.notes)} != {len(listed)}:
        raise ValueError(f"expected texts of {len(listed)} turns, got {len(body.observations)}")
    seen = [*body.observations, body.final or ""] if body is not None else [""] * (len(listed) + 1)
    replies = body.replies if body is not None else [""] * len(listed)
    ids, notes = _split(body, listed), body.notes if body is not None else ((),) * len(listed)

    def observation(turn: int, anchor: int) -> Observation:
        return Observation(text=seen[turn], anchor=anchor, image=images.get(turn))

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
    """Return each turn's prompt ids, reply ids and logprobs; None if not stored."""
    if body is None or not len(body.reply_ids):
        return [(None, None, None)] * len(listed)
    replies = [turn.reply_tokens or 0 for turn in listed]
    prompts = [(turn.prompt_tokens or 0) - (turn.cached_tokens or 0) for turn in listed]
    none = [None] * len(listed)
    return list(
        zip(
            _parts(body.prompt_ids, prompts) if len(body.prompt_ids) else none,
            _parts(body.reply_ids, replies),
            _parts(body.reply_logprobs, replies) if len(body.reply_logprobs) else none,
            strict=True,
        )
    )


def _parts(joined: Any, lengths: Sequence[int]) -> list[Any]:  # Any: arrays
    if min(lengths) < 0 or sum(lengths) != len(joined):
        raise ValueError(f"expected {sum(lengths)} tokens, got {len(joined)}")
    return np.split(joined, np.cumsum(lengths)[:-1])
