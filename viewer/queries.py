"""Queries of pages beyond `core.store.read`: sums and counts.

Each query uses an index or runs over episodes.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cairn.agents.evaluation.report import name_tasks
from cairn.core.folders import is_written
from cairn.core.keys import signed, unsigned
from cairn.core.store import RunStore, read
from cairn.viewer.catalog import RunPlace, dig

PNG = b"\x89PNG\r\n\x1a\n"  # first bytes of a PNG
_HEAD = struct.Struct(">16s2I")  # of a PNG: fixed bytes, width, height
QUIET_S = 3600.0  # a run on another machine without writes for this long counts as stopped
_SILENT = "Stopped without a note: it was killed, or its machine went down."


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A run's summary."""

    place: RunPlace
    updates: int  # done
    planned: int | None  # None: not known
    episodes: int
    turns: int
    success: float | None  # of the last evaluation, 0..1; None: not evaluated
    low: float | None  # of its 95 % interval
    high: float | None
    tasks: str  # name of the evaluation's tasks: held-out tasks, training tasks, or evaluation tasks if not known
    env: str
    method: str  # of credit
    seed: int | None
    parameters: int | None
    began: float | None  # seconds since 1970
    last: float | None  # time of the last write
    is_live: bool  # its process runs, as far as known here
    end: str  # how it ended; "" while it is live
    is_evaluation: bool  # see `viewer.evaluated`


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """The episodes of one task in one update."""

    phase: str
    step: int
    group_id: int
    task: str
    type: str
    episodes: int
    successes: int
    failed: int
    mean_reward: float
    low_reward: float
    high_reward: float
    mean_turns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """Counts of one phase at one step."""

    phase: str
    step: int
    episodes: int
    groups: int
    successes: int
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """An event that the user should know about."""

    step: int
    stored: float  # seconds since 1970
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRow:
    """A saved checkpoint."""

    step: int
    folder: str
    saved: float  # seconds since 1970


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentRow:
    """An environment that the run used."""

    env: str
    version: int
    config: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    updates: int
    began: float | None
    last: float | None


_GROUPS = """
SELECT e.phase, e.step, e.group_id, min(t.task), min(t.type), count(*), coalesce(sum(e.success), 0),
  sum(e.ending = 'failed'), avg(e.reward), min(e.reward), max(e.reward), avg(e.turns)
FROM episodes e JOIN tasks t ON t.id = e.task WHERE e.phase = ? AND e.step = ?
GROUP BY e.group_id ORDER BY e.group_id LIMIT ? OFFSET ?
"""
_STEPS = """
SELECT phase, step, count(*), count(DISTINCT group_id), coalesce(sum(success), 0), sum(turns) FROM episodes
GROUP BY phase, step ORDER BY step, phase
"""


def summary(place: RunPlace, store: RunStore) -> Summary:
    """Return a run's summary."""
    meta = store.meta()
    config = meta.get("config")
    sql = "SELECT coalesce(max(step), 0), min(stored), max(stored) FROM updates"
    (span,) = read.records(store, _Span, sql)
    updates, began, last = span.updates, span.began, span.last
    episodes, turns = store.rows("SELECT count(*), coalesce(sum(turns), 0) FROM episodes")[0]
    planned, seed = (_number(dig(config, *keys)) for keys in (("trainer", "updates"), ("seed",)))
    is_done = planned is not None and updates >= planned
    ended = _end(store)
    is_live = not ended and not is_done and writes(place.folder, last)
    return Summary(
        place=place,
        updates=updates,
        planned=planned,
        episodes=episodes,
        turns=turns,
        **{name: _last(store, f"eval/{name}") for name in ("success", "low", "high")},
        tasks=name_tasks(training_share(store)),
        env=str(dig(config, "env", "id") or ""),
        method=str(dig(config, "credit", "method") or ""),
        seed=seed,
        parameters=meta.get("parameters"),
        began=began,
        last=last,
        is_live=is_live,
        end="" if is_live else ended or ("" if is_done or not last else _SILENT),
        is_evaluation="panel" in meta,
    )


def writes(folder: Path, last: float | None) -> bool:
    """Return whether a process writes to a run's folder.

    `last`: time of the last write, in seconds since 1970; used for a process on another machine.
    """
    found = is_written(folder)
    return (last is not None and time.time() - last < QUIET_S) if found is None else found


def events(store: RunStore, limit: int) -> list[EventRow]:
    """Return the last events, newest first."""
    sql = "SELECT step, stored, kind, text FROM events ORDER BY id DESC LIMIT ?"
    return read.records(store, EventRow, sql, (limit,))


def checkpoints(store: RunStore) -> list[CheckpointRow]:
    """Return the saved checkpoints."""
    return read.records(store, CheckpointRow, "SELECT step, folder, saved FROM checkpoints ORDER BY step")


def environments(store: RunStore) -> list[EnvironmentRow]:
    """Return the environments that the run used, with their settings."""
    sql = "SELECT env, version, config FROM environments ORDER BY env, version, config"
    return read.records(store, EnvironmentRow, sql)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _end(store: RunStore) -> str:
    """Return how the run ended according to its events; "": it has not ended, or was resumed."""
    sql = "SELECT kind, text FROM events WHERE kind IN ('finished', 'stopped', 'resumed') ORDER BY id DESC LIMIT 1"
    found = store.rows(sql)
    return str(found[0][1]) if found and found[0][0] != "resumed" else ""


def training_share(store: RunStore) -> float | None:
    """Return the share of training tasks in the newest evaluation, or None if not stored."""
    return _last(store, "eval/training_share")


def state(store: RunStore) -> str:
    """Return a text that changes when data is stored, or when the run's process starts or ends."""
    asked = (
        "SELECT count(*), max(stored) FROM updates",
        "SELECT max(id) FROM events",
        "SELECT max(id) FROM episodes",
        "SELECT key, value FROM meta WHERE key IN ('gates', 'seconds') ORDER BY key",  # written after the last episode
    )
    return repr([*(store.rows(sql) for sql in asked), is_written(store.path.parent)])


def steps(store: RunStore) -> list[StepRow]:
    """Return counts by step and phase."""
    return read.records(store, StepRow, _STEPS)


def groups(store: RunStore, phase: str, step: int, limit: int, offset: int = 0) -> list[GroupRow]:
    """Return the groups of one step."""
    return read.records(store, GroupRow, _GROUPS, (phase, step, limit, offset))


def visit_counts(store: RunStore, anchors: Sequence[int]) -> Mapping[int, int]:
    """Return the number of the run's turns at each of these anchors."""
    sql = "SELECT anchor, count(*) FROM turns WHERE anchor IN (SELECT value FROM json_each(?)) GROUP BY anchor"
    listed = json.dumps([signed(anchor) for anchor in set(anchors)])
    return {unsigned(anchor): count for anchor, count in store.rows(sql, (listed,))}


def picture_sizes(store: RunStore, episode: int) -> dict[int, tuple[int, int]]:
    """Return the width and height of an episode's pictures, by turn; non-PNG data is left out."""
    found = {}
    for turn, head in store.rows("SELECT turn, substr(png, 1, ?) FROM images WHERE episode = ?", (_HEAD.size, episode)):
        if len(head) == _HEAD.size and head.startswith(PNG):
            _, width, height = _HEAD.unpack(head)
            found[turn] = (width, height)
    return found


def endings(store: RunStore) -> list[tuple[str, str, str, int]]:
    """Return how episodes ended: phase, kind, cause and count, most frequent first."""
    sql = "SELECT phase, ending, coalesce(cause, ''), count(*) FROM episodes GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3"
    return [(phase, ending, cause, count) for phase, ending, cause, count in store.rows(sql)]


def failures(store: RunStore, limit: int) -> list[tuple[int, int, str, str]]:
    """Return the last failed episodes: id, step, cause and detail."""
    sql = "SELECT id, step, coalesce(cause, ''), detail FROM episodes WHERE ending = 'failed' ORDER BY id DESC LIMIT ?"
    return [(number, step, cause, detail) for number, step, cause, detail in store.rows(sql, (limit,))]


def _last(store: RunStore, name: str) -> float | None:
    found = store.rows("SELECT value FROM metrics WHERE name = ? ORDER BY step DESC LIMIT 1", (name,))
    if found and type(found[0][0]) not in (float, int):
        raise store.damaged(f"the metric {name!r} has values that are not numbers")
    return float(found[0][0]) if found else None
