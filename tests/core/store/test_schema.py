"""The file of a run: complete at any kill, upgraded from old versions, and rejected when it is another program's."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.store import RunStore, read
from tests.core.store.test_store import episode
from tests.sampling import SEED

# SQL statements before which a process is killed: all of them, and every fourth, others each day.
MOMENTS = pytest.mark.parametrize(
    ("first", "step"), [pytest.param(0, 1, marks=pytest.mark.slow, id="each"), pytest.param(SEED % 4, 4, id="a fourth")]
)


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    RunStore(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(CairnError, match="schema version 99"):
        RunStore(path)


@pytest.mark.parametrize("has_header", [False, True])
def test_a_file_that_a_kill_left_without_tables_becomes_a_store(has_header: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    path.touch()
    if has_header:  # killed after the log was set up
        database = sqlite3.connect(path)
        database.execute("PRAGMA journal_mode = WAL")
        database.close()
    with RunStore(path) as store, RunStore.read(path) as reader:
        store.add(1, {"loss": 0.5}, [episode(1.0, "look")])
        assert reader.series("loss") == [(1, 0.5)]


def opened_and_killed(path: Path, statement: int) -> bool:
    """Open a store in another process that is killed before its SQL statement of this number; False: it has fewer."""
    child = os.fork()
    if child == 0:
        connect, numbers = sqlite3.connect, itertools.count()

        def watched(*arguments: Any, **options: Any) -> sqlite3.Connection:  # Any: those of `connect`
            database: sqlite3.Connection = connect(*arguments, **options)
            database.set_trace_callback(
                lambda _: os.kill(os.getpid(), signal.SIGKILL) if next(numbers) == statement else None
            )
            return database

        try:
            with patch.object(sqlite3, "connect", watched):
                RunStore(path)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@MOMENTS
def test_a_kill_at_any_moment_while_a_store_is_made_leaves_one_that_can_be_opened(
    first: int, step: int, tmp_path: Path
) -> None:
    for statement in itertools.count(first, step):
        path = tmp_path / f"{statement}.sqlite"
        was_killed = opened_and_killed(path, statement)
        with RunStore(path) as store:
            store.add(1, {"loss": 0.5}, [episode(1.0, "look")])
            read.check(store)
        if not was_killed:
            break
    assert statement > 20  # each table is a statement


def test_a_store_without_one_of_its_tables_is_rejected_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    RunStore(path).close()
    database = sqlite3.connect(path)
    database.execute("DROP TABLE metrics")
    database.close()
    with pytest.raises(CairnError, match=r"run\.sqlite' is damaged: it has no table 'metrics'"):
        RunStore(path)


def test_a_foreign_database_is_rejected_and_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE songs (title)")
    with pytest.raises(CairnError, match="schema version 0"):
        RunStore(path)
    assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("songs",)]
    database.close()


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_earlier_versions_are_brought_up_to_date(version: int, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    database = sqlite3.connect(path)
    database.executescript(VERSION_1)
    if version == 2:
        database.executescript(
            "ALTER TABLE episodes ADD COLUMN final_anchor TEXT; ALTER TABLE turns ADD COLUMN channels TEXT;"
            "UPDATE episodes SET final_anchor = 'ffffffffffffffff'; UPDATE turns SET channels = '{\"c\": 2.0}';"
            "PRAGMA user_version = 2"
        )
    ids, logprobs = np.array([3, 4], np.int32).tobytes(), np.array([-1.0, -2.0], np.float32).tobytes()
    database.execute("UPDATE turns SET reply_ids = ?, reply_logprobs = ?", (ids, logprobs))
    database.commit()
    database.close()
    with RunStore(path) as store:
        (row,) = read.episodes(store)
        (back,) = read.whole_episodes(store, [row])
        assert (row.step, row.phase, row.env, row.task, row.type) == (3, "train", "household", "a task", "a kind")
        assert (row.score, row.success, row.reward, row.turns) == (1.0, True, 1.5, 2)
        assert row.final_anchor == (None if version == 1 else (1 << 64) - 1)
        assert [turn.observation.text for turn in back.turns] == ["first", "second"]
        assert [turn.observation.anchor for turn in back.turns] == [255, (1 << 64) - 2]
        assert [turn.channels for turn in back.turns] == [{} if version == 1 else {"c": 2.0}] * 2
        assert [turn.reply_ids.tolist() for turn in back.turns if turn.reply_ids is not None] == [[3, 4]] * 2
        assert read.turns(store, [1])[1][0].logprob == -1.5
        assert read.advantages(store, 1)[""].tolist() == [0.5, -0.5]
        assert store.series("loss") == [(3, 0.25)]
    with RunStore(path) as store:  # it is a file of this version now
        store.add(4, {"loss": 0.5}, [episode(1.0, "look")])
        read.check(store)


def test_settings_of_a_run_get_the_names_of_today(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    before = {"seed": 1, "limits": {"turn_s": 2.0, "episode_s": None, "group_s": 9.0}}
    with RunStore(path) as store:
        store.set_meta({"config": before, "configs": [{"update": 0, "config": before}], "rollbacks": [1]})
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 3")
    database.close()
    after = {"seed": 1, "limits": {"turn_timeout_s": 2.0, "episode_timeout_s": None, "group_timeout_s": 9.0}}
    with RunStore(path) as store:
        assert store.meta() == {"config": after, "configs": [{"update": 0, "config": after}], "rollbacks": [1]}


@MOMENTS
def test_a_kill_at_any_moment_while_a_file_is_brought_up_to_date_loses_nothing(
    first: int, step: int, tmp_path: Path
) -> None:
    database = sqlite3.connect(tmp_path / "old.sqlite")
    database.executescript(f"BEGIN; {VERSION_1} COMMIT;")
    database.close()
    for statement in itertools.count(first, step):
        path = tmp_path / f"{statement}.sqlite"
        path.write_bytes((tmp_path / "old.sqlite").read_bytes())
        was_killed = opened_and_killed(path, statement)
        with RunStore(path) as store:
            (back,) = read.whole_episodes(store, read.episodes(store))
            assert [turn.observation.text for turn in back.turns] == ["first", "second"]
            assert [turn.observation.anchor for turn in back.turns] == [255, (1 << 64) - 2]
            assert read.advantages(store, 1)[""].tolist() == [0.5, -0.5]
            assert store.series("loss") == [(3, 0.25)]
        if not was_killed:
            break
    assert statement > 40  # in both migrations


VERSION_1 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE metrics (
  step INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (step, name)
) WITHOUT ROWID;
CREATE TABLE episodes (
  id INTEGER PRIMARY KEY, step INTEGER NOT NULL, phase TEXT NOT NULL, task TEXT NOT NULL, task_type TEXT NOT NULL,
  group_id INTEGER NOT NULL, origin TEXT NOT NULL, ending TEXT NOT NULL, cause TEXT, detail TEXT NOT NULL,
  score REAL, success INTEGER, turns INTEGER NOT NULL
);
CREATE INDEX episodes_by_step ON episodes (phase, step);
CREATE TABLE turns (
  episode INTEGER NOT NULL REFERENCES episodes (id), turn INTEGER NOT NULL, anchor TEXT NOT NULL,
  observation TEXT NOT NULL, reply TEXT NOT NULL, action TEXT NOT NULL, reward REAL NOT NULL,
  valid INTEGER NOT NULL, advantage REAL, reply_ids BLOB, reply_logprobs BLOB, version INTEGER, seconds REAL,
  PRIMARY KEY (episode, turn)
) WITHOUT ROWID;
PRAGMA user_version = 1;
INSERT INTO meta VALUES ('config', '{"env": {"id": "household"}}');
INSERT INTO metrics VALUES (3, 'loss', 0.25);
INSERT INTO episodes VALUES (1, 3, 'train', 'a task', 'a kind', 0, 'policy', 'terminated', NULL, '', 1.0, 1, 2);
INSERT INTO turns VALUES (1, 0, '00000000000000ff', 'first', 'r', 'go', 0.5, 1, 0.5, NULL, NULL, 3, 0.25);
INSERT INTO turns VALUES (1, 1, 'fffffffffffffffe', 'second', 'r', 'go', 1.0, 1, -0.5, NULL, NULL, 3, 0.25);
"""
