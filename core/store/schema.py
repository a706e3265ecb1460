"""The tables of a run's file, and the migration of files of earlier versions.

==============  ======================================================================================================
meta            facts about the run, as JSON
updates         when each step was stored, in seconds since 1970
metrics         one value per step and name
environments    the environments used: version and settings
tasks           the tasks used, and their kinds
episodes        one row each; `phase` is train or eval; `prompt_tokens` counts all tokens read, repeated ones included
turns           one row each, small: columns for credit and search; `logprob` is the mean over the reply's tokens
bodies          large data of each episode: see `core.store.blobs`; the oldest are deleted if space is short
images          the pictures; `turn` of the observation after the last step is the number of turns
advantages      of an episode's turns, by method, as float64
checkpoints     the saved checkpoints
events          events that the user should know about
==============  ======================================================================================================

Anchors are SQLite's signed integers: 64-bit keys from 2^63 on are stored as themselves minus 2^64.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cache
from typing import Any

import numpy as np

from cairn.core.keys import signed
from cairn.core.store.blobs import Body, pack

VERSION = 4
TABLES = """CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE updates (step INTEGER PRIMARY KEY, stored REAL NOT NULL);
CREATE TABLE metrics (
  step INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (step, name)
) WITHOUT ROWID;
CREATE INDEX metrics_by_name ON metrics (name, step);
CREATE TABLE environments (
  env TEXT NOT NULL, version INTEGER NOT NULL, config TEXT NOT NULL, PRIMARY KEY (env, version, config)
) WITHOUT ROWID;
CREATE TABLE tasks (
  id INTEGER PRIMARY KEY, env TEXT NOT NULL, task TEXT NOT NULL, split TEXT NOT NULL, type TEXT NOT NULL,
  UNIQUE (env, task, split, type)
);
CREATE TABLE episodes (
  id INTEGER PRIMARY KEY, step INTEGER NOT NULL, phase TEXT NOT NULL, task INTEGER NOT NULL REFERENCES tasks (id),
  group_id INTEGER NOT NULL, seed INTEGER NOT NULL, origin TEXT NOT NULL, parent TEXT, fork_turn INTEGER,
  ending TEXT NOT NULL, cause TEXT, detail TEXT NOT NULL, score REAL, success INTEGER, reward REAL NOT NULL,
  turns INTEGER NOT NULL, final_anchor INTEGER, prompt_tokens INTEGER, reply_tokens INTEGER, cost REAL,
  seconds REAL NOT NULL
);
CREATE INDEX episodes_by_step ON episodes (phase, step, group_id);
CREATE INDEX episodes_by_task ON episodes (task);
CREATE TABLE turns (
  episode INTEGER NOT NULL REFERENCES episodes (id), turn INTEGER NOT NULL, anchor INTEGER NOT NULL,
  action TEXT NOT NULL, reward REAL NOT NULL, valid INTEGER NOT NULL, version INTEGER, seconds REAL, channels TEXT,
  extends INTEGER NOT NULL, logprob REAL, prompt_tokens INTEGER, cached_tokens INTEGER, reply_tokens INTEGER, cost REAL,
  acted TEXT,
  PRIMARY KEY (episode, turn)
) WITHOUT ROWID;
CREATE INDEX turns_by_anchor ON turns (anchor);
CREATE TABLE bodies (
  episode INTEGER PRIMARY KEY, texts BLOB NOT NULL, prompt_ids BLOB NOT NULL, reply_ids BLOB NOT NULL,
  reply_logprobs BLOB NOT NULL
);
CREATE TABLE images (
  episode INTEGER NOT NULL, turn INTEGER NOT NULL, png BLOB NOT NULL, PRIMARY KEY (episode, turn)
);
CREATE TABLE advantages (
  episode INTEGER NOT NULL, method TEXT NOT NULL, "values" BLOB NOT NULL, PRIMARY KEY (episode, method)
) WITHOUT ROWID;
CREATE TABLE checkpoints (step INTEGER PRIMARY KEY, folder TEXT NOT NULL, saved REAL NOT NULL);
CREATE TABLE events (
  id INTEGER PRIMARY KEY, step INTEGER NOT NULL, stored REAL NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
);
"""


def create(db: sqlite3.Connection) -> None:
    """Create the tables of an empty file, in one transaction.

    A file that has tables is not changed.

    A file can exist and be empty: SQLite creates it before the first transaction, and its writer may be killed in
    between.
    """
    if not _is_empty(db):
        return
    db.execute("BEGIN IMMEDIATE")
    if _is_empty(db):  # no other process created them in the meantime
        for statement in TABLES.split(";\n"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


def migrate(db: sqlite3.Connection) -> int:
    """Migrate a file of an older version and return its new version.

    Each version takes one transaction.
    """
    while (version := version_of(db)) in _MIGRATIONS:
        db.execute("BEGIN IMMEDIATE")
        if version_of(db) == version:  # no other process migrated it in the meantime
            _MIGRATIONS[version](db)
            db.execute(f"PRAGMA user_version = {version + 1}")
        db.execute("COMMIT")
    return version


def fault(db: sqlite3.Connection) -> str:
    """Return the first table or column that a file of this version lacks; "" if it has all."""
    wanted, found = _columns(), _columns_of(db)
    for table, columns in wanted.items():
        if table not in found:
            return f"it has no table {table!r}"
        if missing := [name for name in columns if name not in found[table]]:
            return f"its table {table!r} has no column {missing[0]!r}"
    return ""


def wrong_cells(db: sqlite3.Connection) -> str:
    """Return the first fault of a column or its rows; "" if none has one.

    Faults are cells of a wrong type, and rows of episodes that do not exist.
    """
    for table in _columns():
        columns = list(db.execute(f"PRAGMA table_info({table})"))
        types = {name: (*_CELLS[kind], *(() if is_needed else ("null",))) for _, name, kind, is_needed, *_ in columns}
        asked = ", ".join(f'max(typeof("{name}") NOT IN {_listed(kinds)})' for name, kinds in types.items())
        found = db.execute(f"SELECT {asked} FROM {table}").fetchone()
        if wrong := [name for name, is_wrong in zip(types, found, strict=True) if is_wrong]:
            return f"its table {table!r} has cells of another type in the column {wrong[0]!r}"
    for table in ("turns", "bodies", "images", "advantages"):
        sql = f"SELECT count(*) FROM {table} WHERE episode NOT IN (SELECT id FROM episodes)"
        if lost := db.execute(sql).fetchone()[0]:
            return f"its table {table!r} has {lost} rows of episodes that it does not have"
    return ""


_CELLS = {"INTEGER": ("integer",), "REAL": ("real", "integer"), "TEXT": ("text",), "BLOB": ("blob",)}


def _listed(kinds: Sequence[str]) -> str:
    return "(" + ", ".join(f"'{kind}'" for kind in kinds) + ")"


def wrong_fact(facts: Mapping[str, Any]) -> str:  # Any: JSON
    """Return the name of a fact about the run with an invalid type; "" if all are valid.

    Facts with unknown names may have any type.
    """
    for name, value in facts.items():
        kinds = _FACTS.get(name, (object,))
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds and object not in kinds):
            return name
    return ""


@cache
def _columns() -> Mapping[str, list[str]]:
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in TABLES.split(";\n"):
            db.execute(statement)
        return _columns_of(db)


def _columns_of(db: sqlite3.Connection) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    sql = "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
    for table, column in db.execute(sql):
        found.setdefault(table, []).append(column)
    return found


_NONE = type(None)
_FACTS: Mapping[str, tuple[type, ...]] = {  # the facts that readers rely on
    "config": (dict, _NONE), "configs": (list,), "tasks": (dict, list), "declared": (dict,), "prompts": (dict,),
    "versions": (dict,), "parameters": (int, _NONE), "trainable": (int, _NONE), "reports": (dict,),
    "rollbacks": (list,), "writer": (dict,), "agent": (str,), "panel": (dict,), "facts": (dict,), "ranges": (list,),
    "usage": (dict,), "seconds": (int, float), "gates": (list,),
}  # fmt: skip


def _is_empty(db: sqlite3.Connection) -> bool:
    return version_of(db) == 0 and db.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def version_of(db: sqlite3.Connection) -> int:
    """Return the version of a file's tables."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _from_1(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE episodes ADD COLUMN final_anchor TEXT")
    db.execute("ALTER TABLE turns ADD COLUMN channels TEXT")


def _from_2(db: sqlite3.Connection) -> None:
    """Put texts and tokens of each episode together, tasks into a table, anchors into integers.

    This creates the present `TABLES`. A version whose tables differ from version 3 needs its own copy of them here.
    """
    db.execute("ALTER TABLE episodes RENAME TO old_episodes")
    db.execute("ALTER TABLE turns RENAME TO old_turns")
    db.execute("DROP INDEX IF EXISTS episodes_by_step")
    for statement in TABLES.split(";\n"):
        if not statement.strip().startswith(("CREATE TABLE meta", "CREATE TABLE metrics")):
            db.execute(statement)
    config = db.execute("SELECT json_extract(value, '$.env.id') FROM meta WHERE key = 'config'").fetchone()
    env = (config and config[0]) or ""
    db.execute(
        "INSERT INTO tasks (env, task, split, type) SELECT DISTINCT ?, task, '', task_type FROM old_episodes", (env,)
    )
    db.execute(
        """
        INSERT INTO episodes (id, step, phase, task, group_id, seed, origin, ending, cause, detail, score, success,
          turns, reward, seconds)
        SELECT e.id, step, phase, t.id, group_id, 0, origin, ending, cause, detail, score, success, turns,
          (SELECT coalesce(sum(reward), 0) FROM old_turns WHERE episode = e.id),
          (SELECT coalesce(sum(seconds), 0) FROM old_turns WHERE episode = e.id)
        FROM old_episodes e JOIN tasks t ON t.task = e.task AND t.type = e.task_type
        """
    )
    finals = db.execute("SELECT final_anchor, id FROM old_episodes WHERE final_anchor IS NOT NULL").fetchall()
    db.executemany(
        "UPDATE episodes SET final_anchor = ? WHERE id = ?", [(signed(int(key, 16)), e) for key, e in finals]
    )
    for (episode,) in db.execute("SELECT id FROM old_episodes ORDER BY id").fetchall():
        _turns_from_2(db, episode)
    db.execute("DROP TABLE old_turns")
    db.execute("DROP TABLE old_episodes")


def _turns_from_2(db: sqlite3.Connection, episode: int) -> None:
    rows = db.execute(
        "SELECT turn, anchor, action, reward, valid, version, seconds, channels, observation, reply, reply_ids, "
        "reply_logprobs, advantage FROM old_turns WHERE episode = ? ORDER BY turn",
        (episode,),
    ).fetchall()
    replies = [np.frombuffer(row[10] or b"", np.int32) for row in rows]
    logprobs = [np.frombuffer(row[11] or b"", np.float32) for row in rows]
    body = Body(
        observations=tuple(row[8] for row in rows),
        replies=tuple(row[9] for row in rows),
        final=None,
        notes=((),) * len(rows),
        prompt_ids=np.empty(0, np.int32),
        reply_ids=np.concatenate([np.empty(0, np.int32), *replies]),
        reply_logprobs=np.concatenate([np.empty(0, np.float32), *logprobs]),
    )
    if packed := pack(body):
        db.execute("INSERT INTO bodies VALUES (?, ?, ?, ?, ?)", (episode, *packed))
    db.executemany(
        "INSERT INTO turns (episode, turn, anchor, action, reward, valid, version, seconds, channels, extends, "
        "reply_tokens, logprob) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)",
        [
            (
                episode, turn, signed(int(anchor, 16)), *middle, None if ids is None else len(ids) // 4,
                float(found.mean(dtype=np.float64)) if len(found) else None,
            )
            for (turn, anchor, *middle, _, _, ids, _, _), found in zip(rows, logprobs, strict=True)
        ],
    )  # fmt: skip
    values = [row[12] for row in rows]
    if values and None not in values:
        db.execute("INSERT INTO advantages VALUES (?, '', ?)", (episode, np.array(values, np.float64).tobytes()))


def _from_3(db: sqlite3.Connection) -> None:
    """Rename settings of the run whose names have changed."""
    names = {"turn_s": "turn_timeout_s", "episode_s": "episode_timeout_s", "group_s": "group_timeout_s"}
    for key, value in db.execute("SELECT key, value FROM meta WHERE key IN ('config', 'configs')").fetchall():
        stored = json.loads(value)
        for config in [stored] if key == "config" else [entry["config"] for entry in stored]:
            if config and "limits" in config:
                config["limits"] = {names.get(name, name): limit for name, limit in config["limits"].items()}
        db.execute("UPDATE meta SET value = ? WHERE key = ?", (json.dumps(stored), key))


_MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {  # from that version to the next
    1: _from_1,
    2: _from_2,
    3: _from_3,
}
