"""The run store keeps whole updates, is readable while it is written, and rejects unreadable files."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cairn.core.episode_json import episode_to_json
from cairn.core.errors import CairnError
from cairn.core.records import Ending, Episode, Note, Observation, Task, Tokens, Turn
from cairn.core.store import RunStore, read


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


EVERYTHING = Episode(
    task=Task(env_id="env", task_id="task", split="train", seed=5),
    group_id=2,
    turns=(
        Turn(
            observation=Observation(text="a\x00\u2028 <b>", anchor=(1 << 64) - 1, image=b"png"),
            reply_text="say \ud83d",
            action="do",
            reward=0.5,
            is_valid=False,
            channels={"tests": 1.5},
            prompt_ids=np.array([1, 2, 3], np.int32),
            reply_ids=np.array([4, 5], np.int32),
            reply_logprobs=np.array([-0.25, -0.1], np.float32),
            policy_version=9,
            seconds=0.25,
            acted=(1, 2, 3, 4),
        ),
        Turn(
            observation=Observation(text="b", anchor=1 << 63),
            reply_text="go",
            action="go",
            reward=0.25,
            prompt_ids=np.array([6, 7], np.int32),
            extends_previous=True,
            reply_ids=np.array([8], np.int32),
            reply_logprobs=np.array([-1.0], np.float32),
            policy_version=10,
        ),
    ),
    ending=Ending.truncated("turns"),
    score=0.5,
    success=False,
    final=Observation(text="the end", anchor=12, image=b"last"),
    origin="expert",
    parent="x",
    fork_turn=1,
)
SPOKEN = Episode(  # by a model behind a server, which counts tokens
    task=Task(env_id="env", task_id="task"),
    group_id=3,
    turns=tuple(
        Turn(
            observation=Observation(text="a", anchor=3),
            reply_text="b",
            action="b",
            reward=0.0,
            tokens=Tokens(prompt=prompt, cached=cached, reply=7, cost=cost),
            notes=(Note(kind="summary", text="so far \ud800"),) if cached else (),
        )
        for prompt, cached, cost in ((100, 0, 0.5), (150, 100, 0.25))
    ),
    ending=Ending.terminated(),
    score=1.0,
    success=True,
)


def test_added_records_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with RunStore(path) as store:
        store.set_meta({"seed": 3, "path": tmp_path})
        store.add(1, {"loss": 0.5}, [episode(1.0, "look", "go"), episode(None)], advantages={"gigpo": [0.25, -0.25]})
        store.add(2, {"loss": 0.25, "kl": 0.0})
    with RunStore(path) as store:
        assert store.meta() == {"seed": 3, "path": str(tmp_path)}
        assert store.series("loss") == [(1, 0.5), (2, 0.25)]
        assert store.names() == ["kl", "loss"]
        assert store.rows("SELECT score, success, ending, turns FROM episodes") == [
            (1.0, 1, "terminated", 2),
            (None, None, "failed", 0),
        ]
        assert store.rows("SELECT action FROM turns") == [("look",), ("go",)]
        assert read.advantages(store, 1)["gigpo"].tolist() == [0.25, -0.25]
        assert not read.advantages(store, 2)
        body = store.body(1)
    assert body is not None
    assert body.observations == ("seen \ud800",) * 2
    assert body.reply_ids.tolist() == [1, 2, 1, 2]
    assert body.reply_logprobs.tolist() == [-0.5, -1.5] * 2


def test_added_episodes_are_read_back_unchanged(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(4, {}, [EVERYTHING, SPOKEN, episode(None)], task_types=["a", "b", "a"])
        rows = read.episodes(store)
        back = list(read.whole_episodes(store, rows))
        assert [(row.step, row.phase, row.type, row.env, row.task) for row in rows] == [
            (4, "train", "a", "env", "task"),
            (4, "train", "b", "env", "task"),
            (4, "train", "a", "e", "t"),
        ]
        assert read.image(store, 1, 0) == b"png"
        assert read.image(store, 1, 1) is None
        assert read.image(store, 1, 2) == b"last"
        assert read.visits(store, (1 << 64) - 1, 10) == [(1, 0)]
    assert [episode_to_json(each) for each in back] == [
        episode_to_json(each) for each in (EVERYTHING, SPOKEN, episode(None))
    ]
    assert (rows[0].prompt_tokens, rows[0].reply_tokens, rows[0].cost) == (3 + 7, 3, None)  # 3; 3 + 2 + 2
    assert (rows[1].prompt_tokens, rows[1].reply_tokens, rows[1].cost) == (250, 14, 0.75)
    assert (rows[0].reward, rows[0].seconds, rows[0].final_anchor) == (0.75, 0.25, 12)


def test_some_episodes_are_found(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(1, {}, [episode(1.0, "look"), SPOKEN])
        store.add(1, {}, [episode(0.0, "look")], phase="eval")
        store.add(2, {}, [episode(1.0, "look")])

        def found(**only: Any) -> list[int]:  # Any: filters
            return [row.id for row in read.episodes(store, **only)]

        assert found(phase="train") == [1, 2, 4]
        assert found(phase="train", step=1) == [1, 2]
        assert found(task="task") == [2]
        assert found(group=7, step=1) == [1, 3]
        assert found(ids=[4, 1]) == [1, 4]
        assert found(limit=2, offset=1) == [2, 3]


def test_an_update_that_cannot_be_written_leaves_no_trace(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(1, {"loss": 0.5})
        with pytest.raises(CairnError, match="Earlier writes are intact"):
            store.add(2, {"kl": 0.1, "loss": 0.2}, [episode(1.0, "look")], phase=None)  # type: ignore[arg-type]  # the fault
        assert store.rows("SELECT step, name FROM metrics") == [(1, "loss")]
        assert not store.rows("SELECT * FROM episodes")


def test_a_run_that_rolls_back_to_a_checkpoint_deletes_later_records(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        for step in (1, 2, 3):
            store.add(step, {"loss": float(step)}, [episode(1.0, "look")])
        store.forget_after(1)
        assert store.series("loss") == [(1, 1.0)]
        assert store.rows("SELECT step FROM episodes") == [(1,)]
        assert store.rows("SELECT count(*) FROM turns") == [(1,)]


def test_a_kill_loses_at_most_the_current_update(tmp_path: Path) -> None:
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
    reported = [20, *map(int, writer.stdout.read().split("\n")[:-1])][-1]
    writer.wait()
    writer.stdout.close()
    with RunStore(path) as store:
        counts = [row[0] for row in store.rows("SELECT count(*) FROM metrics GROUP BY step")]
    assert set(counts) == {50}
    assert len(counts) >= reported + 1


def test_a_reader_sees_a_run_that_is_being_written(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as writer, RunStore(tmp_path / "run.sqlite") as reader:
        writer.add(1, {"loss": 0.5})
        assert reader.series("loss") == [(1, 0.5)]


def test_a_file_that_is_not_a_store_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    path.write_text("not a database, whatever its name says" * 100)
    with pytest.raises(CairnError, match="move it away"):
        RunStore(path)


@pytest.mark.parametrize("advantages", [[0.5], [0.5, 0.5, 0.5]])
def test_advantages_are_one_a_turn(advantages: list[float], tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store, pytest.raises(ValueError, match="one advantage a turn"):
        store.add(1, {}, [episode(1.0, "look", "go")], advantages={"grpo": advantages})


def test_a_full_disk_keeps_earlier_records_intact(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(1, {"loss": 0.5})
        (pages,) = store.rows("PRAGMA page_count")[0]
        store.rows(f"PRAGMA max_page_count = {pages}")  # SQLite then fails as on a full disk
        with pytest.raises(CairnError, match=r"full.*Earlier writes are intact"):
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
            second.once("b", 4, lambda store: store.event(4, None, "no kind"))  # type: ignore[arg-type]  # the fault
        second.once("b", 4, add(4))  # a write that failed has not been counted
        assert second.series("loss") == [(n, 0.5) for n in (1, 2, 3, 4)]


def test_facts_beside_episodes_are_kept(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        odd = replace(SPOKEN, task=Task(env_id="env", task_id="half \ud800"))
        store.add(1, {}, [odd], task_types=["kind \udfff"])
        assert [(row.task, row.type) for row in read.episodes(store)] == [("half ?", "kind ?")]
        store.environment("household", 2, {"split": "train"})
        store.environment("household", 2, {"split": "train"})
        store.checkpoint(5, "checkpoints/update-000005")
        store.checkpoint(9, "checkpoints/update-000009")
        store.event(7, "warning", "half \ud800 a character")
        store.forget_after(6)
        assert store.rows("SELECT * FROM environments") == [("household", 2, '{"split": "train"}')]
        assert store.rows("SELECT step, folder FROM checkpoints") == [(5, "checkpoints/update-000005")]
        assert store.rows("SELECT step, kind, text FROM events") == [(7, "warning", "half ? a character")]


def test_reading_a_store_needs_an_existing_file(tmp_path: Path) -> None:
    with pytest.raises(CairnError, match="is not a run: expected a folder"):
        RunStore.read(tmp_path)
    assert not list(tmp_path.iterdir())
    RunStore(tmp_path / "run.sqlite").close()
    with RunStore.read(tmp_path) as store, pytest.raises(CairnError, match="readonly"):
        store.add(1, {"loss": 1.0})


def test_a_damaged_file_raises_an_error(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with RunStore(path) as store:
        store.add(1, {"loss": 0.5}, [episode(1.0, *[f"{i} {os.urandom(600).hex()}" for i in range(40)])])
        read.check(store)
    content = bytearray(path.read_bytes())
    content[8192:] = os.urandom(len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(CairnError, match="damaged"), RunStore.read(path) as store:
        read.check(store)


def damage_an_index(path: Path) -> None:
    """Overwrite a page of a closed store that finds anchors, and that nothing else needs."""
    database = sqlite3.connect(path)
    (size,) = database.execute("PRAGMA page_size").fetchone()
    (page,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'turns_by_anchor'").fetchone()
    database.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


def test_texts_that_cannot_be_unpacked_raise_an_error(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(1, {}, [episode(1.0, "look")])
        database = sqlite3.connect(store.path)
        database.execute("UPDATE bodies SET texts = x'00'")
        database.commit()
        database.close()
        with pytest.raises(CairnError, match=r"is damaged: episode 1: .*texts of an episode cannot be read"):
            read.check(store)


def long_episode(num_bytes: int) -> Episode:
    seen = Observation(text=os.urandom(num_bytes).hex(), anchor=1)
    turn = Turn(observation=seen, reply_text="go", action="go", reward=0.0)
    task = Task(env_id="e", task_id="t")
    return Episode(task=task, group_id=0, turns=(turn,), ending=Ending.terminated(), score=0.0, success=False)


def test_a_file_that_grows_too_large_forgets_the_oldest_texts(tmp_path: Path) -> None:
    limit = 400_000
    with RunStore(tmp_path / "run.sqlite", max_bytes=limit) as store:
        for step in range(1, 31):
            phase = "eval" if step == 2 else "train"
            store.add(step, {"loss": 1.0}, [long_episode(20_000)], phase=phase)
        (pages,), (size,) = store.rows("PRAGMA page_count")[0], store.rows("PRAGMA page_size")[0]
        assert pages * size < 1.5 * limit
        kept = [row.step for row in read.episodes(store) if store.body(row.id) is not None]
        assert kept == [2, *range(kept[1], 31)]  # the evaluation, and the newest
        assert 2 < kept[1] < 30
        assert len(read.episodes(store)) == 30
        assert [step for step, _ in store.series("loss")] == list(range(1, 31))
        reported = store.rows("SELECT text FROM events WHERE kind = 'forgotten'")
        assert reported
        assert "training episodes" in reported[0][0]
        forgotten = next(read.whole_episodes(store, read.episodes(store, step=1)))
        assert [(turn.observation.text, turn.action) for turn in forgotten.turns] == [("", "go")]


def test_a_metric_without_a_value_is_absent(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(1, {"success": float("nan"), "return": 0.5, "largest": float("inf")})
        assert store.names() == ["largest", "return"]
