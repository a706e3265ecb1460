"""The run store: one SQLite file per run, with one writer, readable during writes.

Readers use SQLite's write-ahead log.

One transaction per update: a kill loses at most the current update. Files of earlier versions are migrated when they
are opened. A file of a newer version is refused, and so is a damaged file, as far as it is read;
`core.store.read.check` reads all of it. A writer that receives its writes from other processes stores the number of the
write in each transaction, so that a write that is sent again after a kill is not applied twice. Reading as records is
in `core.store.read`.

Not stored: the choices of constrained decoding, and which actions were admissible.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cairn.core.errors import CairnError, DamagedStoreError
from cairn.core.records import Episode
from cairn.core.store import rows as to_rows
from cairn.core.store import schema
from cairn.core.store.blobs import Body, unpack
from cairn.core.store.retention import make_room, used_bytes

_CLAIM = """
INSERT INTO meta VALUES ('writer', ?)
ON CONFLICT (key) DO UPDATE SET value = json_set(value, '$.owner', json_extract(excluded.value, '$.owner'))
"""
_TURN = """
UPDATE meta SET value = json_object('owner', ?, 'number', ?) WHERE key = 'writer'
AND json_extract(value, '$.owner') = ? AND json_extract(value, '$.number') = ?
"""
_OF_DAMAGE = (  # errors that a damaged file may cause in its readers
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, sqlite3.Error,
)  # fmt: skip
_OF_EPISODES = ("turns", "bodies", "images", "advantages")  # tables with rows per episode


class RunStore:
    """One run's file. Use as a context manager, or call `close`."""

    def __init__(self, path: Path, max_bytes: int | None = None) -> None:
        """Open the file, or create it.

        Beyond `max_bytes` the oldest data is deleted, as described in `core.store.retention`.

        Raises:
            CairnError: the file is not a run store, has a newer version, or lacks tables or columns.
        """
        self._is_read = False
        self._open(path, _connect, max_bytes)

    def _open(self, path: Path, connect: Callable[[Path], sqlite3.Connection], max_bytes: int | None) -> None:
        try:
            self._db = connect(path)
            version, fault = schema.version_of(self._db), schema.fault(self._db)
        except (sqlite3.DatabaseError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise CairnError(  # all but DatabaseError: an older version whose cells cannot be migrated
                f"Cannot open run store {str(path)!r}: {error}. If the file is damaged, move it away"
            ) from error
        if version != schema.VERSION:
            raise CairnError(
                f"Run store {str(path)!r} has schema version {version}; this Cairn reads version {schema.VERSION}"
            )
        self.path = path
        if fault:
            raise self.damaged(fault)
        self._max_bytes = max_bytes
        self._is_full = False  # more than `max_bytes` is used after all permitted deletions
        self._turn: tuple[str, int] | None = None  # the owner and number of the current write

    @classmethod
    def read(cls, path: Path) -> Self:
        """Open an existing file for reading; it may be on a read-only file system.

        Raises:
            CairnError: it does not exist, it is not a valid run store, or its last writes cannot be read in its folder.
        """
        store = cls.__new__(cls)
        store._is_read = True
        file = cls.file(path)
        store._open(file, _connect if _is_writable(file) else _connect_read_only, None)
        store._db.execute("PRAGMA query_only = ON")
        return store

    @staticmethod
    def file(run: Path) -> Path:
        """Return the file of a run, which is given by its folder or is the file itself.

        Raises:
            CairnError: it does not exist.
        """
        file = run / "run.sqlite" if run.is_dir() else run
        if not file.is_file():
            raise CairnError(
                f"{str(run)!r} is not a run: expected a folder with run.sqlite, such as runs/quickstart-..."
            )
        return file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file.

        Raises:
            CairnError: the file is damaged, and reading it led to the current error.
        """
        try:
            if self._is_read and isinstance(error, _OF_DAMAGE):
                from cairn.core.store.read import check  # imported late: the module imports this one

                check(self)
        finally:
            self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    # -- write --------------------------------------------------------------------------------------------------------

    def set_meta(self, values: Mapping[str, Any]) -> None:  # Any: any JSON value
        """Store facts about the run."""
        facts = [(key, json.dumps(value, default=str)) for key, value in values.items()]
        self._write(lambda db: db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts))

    def environment(self, env: str, version: int, config: Mapping[str, Any]) -> None:  # Any: any JSON value
        """Store a version of an environment that the run uses, with its settings."""
        row = (env, version, json.dumps(config, sort_keys=True, default=str))
        self._write(lambda db: db.execute("INSERT OR IGNORE INTO environments VALUES (?, ?, ?)", row))

    def add(
        self,
        step: int,
        metrics: Mapping[str, float],
        episodes: Sequence[Episode] = (),
        *,
        phase: str = "train",
        task_types: Sequence[str] | None = None,
        advantages: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """Store one step's metrics and episodes in one transaction.

        Args:
            step: the number of updates so far.
            metrics: values by name; NaN, such as the mean of no values, is not stored.
            episodes: those that ended.
            phase: train or eval.
            task_types: one per episode.
            advantages: by method, one value per turn of all episodes, in their order.

        Raises:
            CairnError: the write failed; earlier data is intact.
        """
        kinds = task_types if task_types is not None else [""] * len(episodes)
        num_turns = sum(len(episode.turns) for episode in episodes)
        for method, values in (advantages or {}).items():
            if len(values) != num_turns:
                raise ValueError(
                    f"RunStore.add needs one advantage a turn, {num_turns} in all, got {len(values)} of {method!r}"
                )

        def write(db: sqlite3.Connection) -> None:
            db.execute("INSERT OR REPLACE INTO updates VALUES (?, ?)", (step, time.time()))
            named = [(step, name, float(value)) for name, value in metrics.items() if not math.isnan(value)]
            db.executemany("INSERT OR REPLACE INTO metrics VALUES (?, ?, ?)", named)
            first = to_rows.add_episodes(db, step, phase, episodes, kinds)
            db.executemany(
                "INSERT INTO advantages VALUES (?, ?, ?)", to_rows.advantage_rows(first, episodes, advantages or {})
            )
            if self._max_bytes is not None:
                self._keep_within(db, step, self._max_bytes)

        self._write(write)

    def checkpoint(self, step: int, folder: str) -> None:
        """Store that a checkpoint was saved."""
        row = (step, folder, time.time())
        self._write(lambda db: db.execute("INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)", row))

    def event(self, step: int, kind: str, text: str) -> None:
        """Store an event that the user should know about."""
        row = (step, time.time(), kind, to_rows.text(text))
        self._write(lambda db: db.execute(to_rows.EVENT, row))

    def insert(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:  # Any: SQLite's column types
        """Insert rows into a table, replacing rows with the same key; all have the same columns."""
        if rows:
            columns, values = (", ".join(form.format(name) for name in rows[0]) for form in ('"{}"', ":{}"))
            sql = f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({values})"
            self._write(lambda db: db.executemany(sql, rows))

    def forget_after(self, step: int) -> None:
        """Delete all records of steps later than `step`.

        A run does this before it resumes from an older checkpoint.
        """

        def write(db: sqlite3.Connection) -> None:
            for table in _OF_EPISODES:
                db.execute(
                    f"DELETE FROM {table} WHERE episode IN (SELECT id FROM episodes WHERE step > ?)",
                    (step,),
                )
            for table in ("episodes", "metrics", "updates", "checkpoints"):
                db.execute(f"DELETE FROM {table} WHERE step > ?", (step,))

        self._write(write)

    def flush(self) -> None:
        """Do nothing: every write is in the file when it returns."""

    # -- one writer ---------------------------------------------------------------------------------------------------

    def claim(self, owner: str) -> int:
        """Make `owner` the only one whose `once` writes.

        Returns the number of the last such write, 0 if none.
        """
        first = json.dumps({"owner": owner, "number": 0})
        self._write(lambda db: db.execute(_CLAIM, (first,)))
        return int(self.meta()["writer"]["number"])

    def once(self, owner: str, number: int, write: Callable[[RunStore], None]) -> None:
        """Apply the write of this number in one transaction, unless the file already has it.

        Raises:
            CairnError: another owner has claimed the file since, or the write before this one is missing.
        """
        self._turn = (owner, number)
        try:
            write(self)
        finally:
            self._turn = None

    # -- read ---------------------------------------------------------------------------------------------------------

    def meta(self) -> dict[str, Any]:  # Any: any JSON value
        """Return the facts about the run.

        Raises:
            CairnError: a fact is not JSON or has an invalid type.
        """
        facts = {}
        for key, value in self.rows("SELECT key, value FROM meta"):
            try:
                facts[str(key)] = json.loads(value)
            except (ValueError, TypeError, RecursionError) as error:
                raise self.damaged(f"its fact {key!r:.100} is not JSON") from error
        if wrong := schema.wrong_fact(facts):
            raise self.damaged(f"its fact {wrong!r} has another form than Cairn writes")
        return facts

    def series(self, name: str) -> list[tuple[int, float]]:
        """Return (step, value) pairs of one metric, by step."""
        found = self.rows("SELECT step, value FROM metrics WHERE name = ? ORDER BY step", (name,))
        if not {(type(step), type(value)) for step, value in found} <= {(int, float), (int, int)}:
            raise self.damaged(f"the metric {name!r:.100} has values that are not numbers")
        return [(step, value) for step, value in found]

    def names(self) -> list[str]:
        """Return the names of all metrics."""
        return [row[0] for row in self.rows("SELECT DISTINCT name FROM metrics ORDER BY name")]

    def body(self, episode: int) -> Body | None:
        """Return an episode's texts and tokens, or None if they were deleted to save space."""
        sql = "SELECT texts, prompt_ids, reply_ids, reply_logprobs FROM bodies WHERE episode = ?"
        found = self.rows(sql, (episode,))
        try:
            return unpack(*found[0]) if found else None
        except CairnError as error:
            raise self.damaged(f"episode {episode}: {error}") from error

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:  # Any: SQLite's column types
        """Return the rows of a query that changes nothing.

        Raises:
            CairnError: the file is damaged.
        """
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError | sqlite3.IntegrityError):
                raise
            raise self.damaged(str(error)) from error

    def check_file(self) -> None:
        """Check all pages of the file and the types of all cells.

        `core.store.read.check` also checks the contents of the cells.

        Raises:
            CairnError: the file is damaged.
        """
        found = [row[0] for row in self.rows("PRAGMA integrity_check(5)")]
        if found != ["ok"]:
            raise self.damaged("; ".join(found))
        if wrong := schema.wrong_cells(self._db):
            raise self.damaged(wrong)

    def damaged(self, how: str) -> DamagedStoreError:
        """Return the error for a damaged file; `how` describes the fault."""
        return DamagedStoreError(str(self.path), how)

    # -- helpers ------------------------------------------------------------------------------------------------------

    def _keep_within(self, db: sqlite3.Connection, step: int, most: int) -> None:
        if message := make_room(db, most):
            db.execute(to_rows.EVENT, (step, time.time(), "forgotten", message))
        is_full = used_bytes(db) > most
        if is_full and not self._is_full:
            message = "The data that must be kept exceeds store.max_gb: the run's file grows beyond it"
            db.execute(to_rows.EVENT, (step, time.time(), "full", message))
        self._is_full = is_full

    def _is_new(self) -> bool:
        """Record the number of the current write, and return whether it is to be applied."""
        if self._turn is None:
            return True
        owner, number = self._turn
        if self._db.execute(_TURN, (owner, number, owner, number - 1)).rowcount == 1:
            return True
        found = self.meta()["writer"]
        if found["owner"] != owner:
            raise CairnError(f"Another writer has taken over run store {str(self.path)!r}; this one may not continue")
        if found["number"] < number:
            raise CairnError(f"Run store {str(self.path)!r} holds writes up to {found['number']}, got write {number}")
        return False

    def _write(self, work: Callable[[sqlite3.Connection], object]) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            if self._is_new():
                work(self._db)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise CairnError(
                f"Cannot write to run store {str(self.path)!r}: {error}. Earlier writes are intact"
            ) from error
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")


def _connect(path: Path) -> sqlite3.Connection:
    """Open a file for writing, create its tables if it is new, and migrate older ones."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        schema.create(db)
        schema.migrate(db)
    except BaseException:  # raised again; a transaction must not stay open
        db.close()
        raise
    return db


def _connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a file that cannot be written.

    Raises:
        CairnError: its write-ahead log has writes; SQLite needs a writable folder to read those.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.is_file() and log.stat().st_size:
        raise CairnError(
            f"Run store {str(path)!r} cannot be read in a read-only folder: its last writes are in {log.name}. Copy "
            "the folder to a place that can be written"
        )
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)


def _is_writable(file: Path) -> bool:
    return os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)
