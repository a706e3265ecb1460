"""The run store: one SQLite file a run, written by the trainer, readable while it trains (write-ahead log).

One transaction an update: a kill loses at most the update under way. Later schema versions migrate older files; a file
of a newer version is refused. A writer that others send their writes to notes in each transaction which one it was, so
that what is sent again after a kill is not written twice.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cairn.core.errors import CairnError
from cairn.core.records import Episode, Turn

SCHEMA_VERSION = 2
_MIGRATIONS = {  # from that version to the next
    1: "ALTER TABLE episodes ADD COLUMN final_anchor TEXT; ALTER TABLE turns ADD COLUMN channels TEXT"
}
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE metrics (
  step INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (step, name)
) WITHOUT ROWID;
CREATE TABLE episodes (
  id INTEGER PRIMARY KEY, step INTEGER NOT NULL, phase TEXT NOT NULL, task TEXT NOT NULL, task_type TEXT NOT NULL,
  group_id INTEGER NOT NULL, origin TEXT NOT NULL, ending TEXT NOT NULL, cause TEXT, detail TEXT NOT NULL,
  score REAL, success INTEGER, turns INTEGER NOT NULL, final_anchor TEXT
);
CREATE INDEX episodes_by_step ON episodes (phase, step);
CREATE TABLE turns (
  episode INTEGER NOT NULL REFERENCES episodes (id), turn INTEGER NOT NULL, anchor TEXT NOT NULL,
  observation TEXT NOT NULL, reply TEXT NOT NULL, action TEXT NOT NULL, reward REAL NOT NULL,
  valid INTEGER NOT NULL, advantage REAL, reply_ids BLOB, reply_logprobs BLOB, version INTEGER, seconds REAL,
  channels TEXT,
  PRIMARY KEY (episode, turn)
) WITHOUT ROWID;
"""
_CLAIM = """
INSERT INTO meta VALUES ('writer', ?)
ON CONFLICT (key) DO UPDATE SET value = json_set(value, '$.owner', json_extract(excluded.value, '$.owner'))
"""
_TURN = """
UPDATE meta SET value = json_object('owner', ?, 'number', ?) WHERE key = 'writer'
AND json_extract(value, '$.owner') = ? AND json_extract(value, '$.number') = ?
"""


class Recorder(Protocol):
    """Where a training run puts what it finds out: a `RunStore`, or one that is elsewhere."""

    def set_meta(self, values: Mapping[str, Any]) -> None:  # Any: whatever JSON can hold
        """Store facts about the run."""

    def meta(self) -> dict[str, Any]:  # Any: whatever JSON can hold
        """Return the facts about the run."""

    def add(
        self,
        step: int,
        metrics: Mapping[str, float],
        episodes: Sequence[Episode] = (),
        *,
        phase: str = "train",
        task_types: Sequence[str] | None = None,
        advantages: Sequence[float] | None = None,
    ) -> None:
        """Store one step's metrics and episodes; `advantages` has one value a turn of all."""

    def series(self, name: str) -> list[tuple[int, float]]:
        """Return (step, value) pairs of one metric, by step."""

    def forget_after(self, step: int) -> None:
        """Delete everything later than `step`."""

    def flush(self) -> None:
        """Return when all of it is in the file."""


class RunStore:
    """One run's file. Use as a context manager, or call `close`."""

    def __init__(self, path: Path) -> None:
        is_new = not path.exists()
        try:
            self._db = sqlite3.connect(path, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            if is_new:
                self._db.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
            version = self._migrated()
        except sqlite3.DatabaseError as error:
            raise CairnError(
                f"Cannot open run store {str(path)!r}: {error}. If the file is damaged, move it away"
            ) from error
        if version != SCHEMA_VERSION:
            raise CairnError(
                f"Run store {str(path)!r} has schema version {version}; this Cairn reads version {SCHEMA_VERSION}"
            )
        self.path = path
        self._turn: tuple[str, int] | None = None  # who writes, and the number of the write under way

    def _migrated(self) -> int:
        """Bring a file of an older version up to date and return its version."""
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        while version in _MIGRATIONS:
            version += 1
            self._db.executescript(f"BEGIN; {_MIGRATIONS[version - 1]}; PRAGMA user_version = {version}; COMMIT;")
        return version

    def __enter__(self) -> RunStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def set_meta(self, values: Mapping[str, Any]) -> None:  # Any: whatever JSON can hold
        """Store facts about the run."""
        rows = [(key, json.dumps(value, default=str)) for key, value in values.items()]
        self._write([("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)])

    def meta(self) -> dict[str, Any]:  # Any: whatever JSON can hold
        """Return the facts about the run."""
        return {key: json.loads(value) for key, value in self._db.execute("SELECT key, value FROM meta")}

    def add(
        self,
        step: int,
        metrics: Mapping[str, float],
        episodes: Sequence[Episode] = (),
        *,
        phase: str = "train",
        task_types: Sequence[str] | None = None,
        advantages: Sequence[float] | None = None,
    ) -> None:
        """Store one step's metrics and episodes in one transaction; `advantages` has one value a turn of all."""
        first = int(self._db.execute("SELECT coalesce(max(id), 0) + 1 FROM episodes").fetchone()[0])
        types = task_types if task_types is not None else [""] * len(episodes)
        num_turns = sum(len(episode.turns) for episode in episodes)
        if advantages is not None and len(advantages) != num_turns:
            raise ValueError(f"RunStore.add needs one advantage a turn, {num_turns} in all, got {len(advantages)}")
        values = iter(advantages) if advantages is not None else None
        turns = [
            _turn_row(first + i, t, turn, None if values is None else float(next(values)))
            for i, episode in enumerate(episodes)
            for t, turn in enumerate(episode.turns)
        ]
        self._write(
            [
                (
                    "INSERT OR REPLACE INTO metrics VALUES (?, ?, ?)",
                    [(step, name, float(v)) for name, v in metrics.items()],
                ),
                (
                    "INSERT INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        _episode_row(first + i, step, phase, kind, e)
                        for i, (e, kind) in enumerate(zip(episodes, types, strict=True))
                    ],
                ),
                ("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", turns),
            ]
        )

    def series(self, name: str) -> list[tuple[int, float]]:
        """Return (step, value) pairs of one metric, by step."""
        return list(self._db.execute("SELECT step, value FROM metrics WHERE name = ? ORDER BY step", (name,)))

    def names(self) -> list[str]:
        """Return the names of all metrics."""
        return [row[0] for row in self._db.execute("SELECT DISTINCT name FROM metrics ORDER BY name")]

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:  # Any: SQLite's column types
        """Return the rows of a query that changes nothing."""
        return self._db.execute(sql, values).fetchall()

    def forget_after(self, step: int) -> None:
        """Delete everything later than `step`: a run goes on from a checkpoint that is older than its last update."""
        self._write(
            [
                ("DELETE FROM turns WHERE episode IN (SELECT id FROM episodes WHERE step > ?)", [(step,)]),
                ("DELETE FROM episodes WHERE step > ?", [(step,)]),
                ("DELETE FROM metrics WHERE step > ?", [(step,)]),
            ]
        )

    def flush(self) -> None:
        """Every write is in the file when it returns."""

    def claim(self, owner: str) -> int:
        """Make `owner` the only one whose `once` writes, and return the number of the last of these; 0: none."""
        first = json.dumps({"owner": owner, "number": 0})
        self._write([(_CLAIM, [(first,)])])
        return int(self.meta()["writer"]["number"])

    def once(self, owner: str, number: int, write: Callable[[RunStore], None]) -> None:
        """Carry out the write of this number, one above the last, in one transaction; nothing if it is in the file.

        Raises:
            CairnError: another has claimed the file since, or a write before this one is missing.
        """
        self._turn = (owner, number)
        try:
            write(self)
        finally:
            self._turn = None

    def _is_new(self) -> bool:
        """Take note of the write under way and return whether it is yet to be carried out."""
        if self._turn is None:
            return True
        owner, number = self._turn
        if self._db.execute(_TURN, (owner, number, owner, number - 1)).rowcount == 1:
            return True
        found = self.meta()["writer"]
        if found["owner"] != owner:
            raise CairnError(f"Another writer has taken over run store {str(self.path)!r}; this one may not go on")
        if found["number"] < number:
            raise CairnError(f"Run store {str(self.path)!r} holds writes up to {found['number']}, got write {number}")
        return False

    def _write(self, statements: Iterable[tuple[str, Sequence[tuple[Any, ...]]]]) -> None:  # Any: SQLite's column types
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for sql, rows in statements if self._is_new() else ():
                self._db.executemany(sql, rows)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise CairnError(
                f"Cannot write to run store {str(self.path)!r}: {error}. What was stored before is intact"
            ) from error
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")


def _episode_row(number: int, step: int, phase: str, task_type: str, episode: Episode) -> tuple[object, ...]:
    success = None if episode.success is None else int(episode.success)
    return (
        number,
        step,
        phase,
        episode.task.task_id,
        task_type,
        episode.group_id,
        episode.origin,
        episode.ending.kind,
        episode.ending.cause,
        episode.ending.detail,
        episode.score,
        success,
        len(episode.turns),
        None if episode.final is None else f"{episode.final.anchor:016x}",
    )


def _turn_row(episode: int, number: int, turn: Turn, advantage: float | None) -> tuple[object, ...]:
    return (
        episode,
        number,
        f"{turn.observation.anchor:016x}",
        _text(turn.observation.text),
        _text(turn.reply_text),
        _text(turn.action),
        turn.reward,
        int(turn.is_valid),
        advantage,
        _blob(turn.reply_ids),
        _blob(turn.reply_logprobs),
        turn.policy_version,
        turn.seconds,
        json.dumps(dict(turn.channels)) if turn.channels else None,
    )


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")  # SQLite holds no lone surrogates


def _blob(array: np.ndarray[Any, Any] | None) -> bytes | None:  # Any: of any shape and type
    return None if array is None else array.tobytes()
