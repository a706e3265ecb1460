"""The run store keeps whole updates, is readable while it is written, and refuses what it cannot read."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.core.store import RunStore


def episode(score: float | None, *actions: str) -> Episode:
    turns = tuple(
        Turn(
            observation=Observation(text="seen \ud800", anchor=(1 << 64) - 1),
            reply_text=action,
            action=action,
            reward=0.5,
            reply_ids=np.array([1, 2], np.int32),
            reply_logprobs=np.array([-0.5, -1.5], np.float32),
            policy_version=3,
        )
        for action in actions
    )
    ending = Ending.terminated() if score is not None else Ending.failed("environment", "died")
    success = None if score is None else score > 0
    task = Task(env_id="e", task_id="t")
    return Episode(task=task, group_id=7, turns=turns, ending=ending, score=score, success=success)


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with RunStore(path) as store:
        store.set_meta({"seed": 3, "path": tmp_path})
        store.add(1, {"loss": 0.5}, [episode(1.0, "look", "go"), episode(None)], advantages=[0.25, -0.25])
        store.add(2, {"loss": 0.25, "kl": 0.0})
    with RunStore(path) as store:
        assert store.meta() == {"seed": 3, "path": str(tmp_path)}
        assert store.series("loss") == [(1, 0.5), (2, 0.25)]
        assert store.names() == ["kl", "loss"]
        assert store.rows("SELECT score, success, ending, turns FROM episodes") == [
            (1.0, 1, "terminated", 2),
            (None, None, "failed", 0),
        ]
        (turn, _) = store.rows("SELECT anchor, observation, action, advantage, reply_ids, reply_logprobs FROM turns")
        assert turn[:4] == ("f" * 16, "seen ?", "look", 0.25)
        assert np.frombuffer(turn[4], np.int32).tolist() == [1, 2]
        assert np.frombuffer(turn[5], np.float32).tolist() == [-0.5, -1.5]


def test_an_update_that_cannot_be_written_leaves_no_trace(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(1, {"loss": 0.5})
        with pytest.raises(CairnError, match="What was stored before is intact"):
            store.add(2, {"kl": 0.1, "loss": float("nan")}, [episode(1.0, "look")])
        assert store.rows("SELECT step, name FROM metrics") == [(1, "loss")]
        assert not store.rows("SELECT * FROM episodes")


def test_a_run_that_goes_back_to_a_checkpoint_forgets_what_came_after(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        for step in (1, 2, 3):
            store.add(step, {"loss": float(step)}, [episode(1.0, "look")])
        store.forget_after(1)
        assert store.series("loss") == [(1, 1.0)]
        assert store.rows("SELECT step FROM episodes") == [(1,)]
        assert store.rows("SELECT count(*) FROM turns") == [(1,)]


def test_a_kill_loses_at_most_the_update_under_way(tmp_path: Path) -> None:
    code = (
        "import sys, itertools; from pathlib import Path; from cairn.core.store import RunStore\n"
        "store = RunStore(Path(sys.argv[1]))\n"
        "for step in itertools.count():\n"
        "    store.add(step, {f'm{i}': 1.0 for i in range(50)}); print(step, flush=True)"
    )
    path = tmp_path / "run.sqlite"
    writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    while int(writer.stdout.readline()) < 20:
        pass
    os.kill(writer.pid, signal.SIGKILL)
    told = [20, *map(int, writer.stdout.read().split("\n")[:-1])][-1]
    writer.wait()
    writer.stdout.close()
    with RunStore(path) as store:
        counts = [row[0] for row in store.rows("SELECT count(*) FROM metrics GROUP BY step")]
    assert set(counts) == {50}
    assert len(counts) >= told + 1


def test_a_reader_sees_a_run_that_is_being_written(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as writer, RunStore(tmp_path / "run.sqlite") as reader:
        writer.add(1, {"loss": 0.5})
        assert reader.series("loss") == [(1, 0.5)]


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    RunStore(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(CairnError, match="schema version 99"):
        RunStore(path)


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    path.write_text("not a database, whatever its name says" * 100)
    with pytest.raises(CairnError, match="move it away"):
        RunStore(path)


@pytest.mark.parametrize("advantages", [[0.5], [0.5, 0.5, 0.5]])
def test_advantages_are_one_a_turn(advantages: list[float], tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store, pytest.raises(ValueError, match="one advantage a turn"):
        store.add(1, {}, [episode(1.0, "look", "go")], advantages=advantages)


def test_when_the_disk_is_full_what_was_stored_before_is_intact(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(1, {"loss": 0.5})
        (pages,) = store.rows("PRAGMA page_count")[0]
        store.rows(f"PRAGMA max_page_count = {pages}")  # SQLite then says what it says when there is no space
        with pytest.raises(CairnError, match=r"full.*stored before is intact"):
            store.add(2, {"loss": 0.25}, [episode(1.0, *["a long action " * 100] * 50)])
        assert store.series("loss") == [(1, 0.5)]


def test_a_numbered_write_is_carried_out_once_and_only_by_the_last_to_claim_the_file(tmp_path: Path) -> None:
    def add(step: int) -> Callable[[RunStore], None]:
        return lambda store: store.add(step, {"loss": 0.5}, [episode(1.0, "look")])

    path = tmp_path / "run.sqlite"
    with RunStore(path) as first, RunStore(path) as second:
        assert first.claim("a") == 0
        first.once("a", 1, add(1))
        first.once("a", 1, add(1))  # sent again
        first.once("a", 2, add(2))
        with pytest.raises(CairnError, match="holds writes up to 2, got write 4"):
            first.once("a", 4, add(4))
        assert second.claim("b") == 2
        with pytest.raises(CairnError, match="Another writer has taken over"):
            first.once("a", 3, add(3))
        second.once("b", 2, add(2))
        second.once("b", 3, add(3))
        assert second.rows("SELECT step FROM episodes") == [(1,), (2,), (3,)]
        with pytest.raises(CairnError, match="intact"):
            second.once("b", 4, lambda store: store.add(4, {"loss": float("nan")}))
        second.once("b", 4, add(4))  # a write that failed has not been counted
        assert second.series("loss") == [(n, 0.5) for n in (1, 2, 3, 4)]
