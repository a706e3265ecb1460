"""Whole runs: a tiny environment is learned, equal seeds are equal bit for bit, a killed run resumes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cairn.agents.evaluation.jobs import play_tasks
from cairn.agents.evaluation.report import Report
from cairn.agents.models.policy import load_pretrained
from cairn.core.errors import CairnError, ConfigError
from cairn.core.store import RunStore, read
from cairn.core.store.digest import played
from cairn.trainer.callbacks import Callback
from cairn.trainer.run.result import Run
from cairn.trainer.stored_credit import stored_steps
from cairn.trainer.train import train
from tests.agents.tiny import shared

pytestmark = pytest.mark.rotating(5)

ROOT = Path(__file__).parents[2]
DOORS: dict[str, Any] = {
    "name": "doors",
    "env": {"id": "tests.trainer.doomed:Doomed"},
    "model": {"preset": "qwen3-nano", "vocab_size": 400},
    "sampling": {"slots": 64, "max_context": 256},
    "learner": {"optimizer": {"lr": 3e-3}, "minibatches": 2},
    "trainer": {"updates": 40, "groups": 16, "group_size": 8, "threads": 1, "deterministic": True},
    "imitation": {"oracle": "reader"},
    "eval": {"tasks": 300, "every": 1000},
}
SMALL = {
    "trainer.updates": 6,
    "trainer.groups": 4,
    "trainer.group_size": 4,
    "trainer.checkpoint_every": 2,
    "eval.tasks": 8,
    "imitation.episodes": 12,
    "imitation.epochs": 1,
    "imitation.batch": 4,
}
AHEAD = {
    **SMALL,
    "schedule.over_provision": 1.5,
    "schedule.staleness": 2,
    "sampling.slots": 20,
    "sampling.cache_tokens": 700,  # less than 20 sequences can come to, so that chance in the forecast matters
    "sampling.hf.chunk": 8,
}
CLOCKS = ("seconds/", "tokens_per_second", "hardware/")


@pytest.fixture(autouse=True)
def _torch_as_before() -> Iterator[None]:
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(DOORS, SMALL, folder=tmp_path_factory.mktemp("finished"))


def metrics(folder: Path) -> dict[str, list[tuple[int, float]]]:
    with RunStore(folder / "run.sqlite") as store:
        return {name: store.series(name) for name in store.names() if not name.startswith(CLOCKS)}


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with RunStore(folder / "run.sqlite") as store:
        return store.rows(sql)


def stored(folder: Path) -> list[tuple[object, ...]]:
    with RunStore.read(folder) as store:
        return played(store)


def weights(run: Run) -> bytes:
    return (run.checkpoint / "model.safetensors").read_bytes()


def test_doors_are_learned_from_nothing(tmp_path: Path) -> None:
    """Chance opens the right door one time in six."""
    run = train(DOORS, folder=tmp_path)
    assert run.reports[0].success.high < 0.3
    assert run.final.success.low > 0.9


def test_doors_are_imitated(tmp_path: Path) -> None:
    imitation = {"imitation.episodes": 300, "imitation.epochs": 4, "imitation.batch": 8, "trainer.updates": 0}
    run = train(DOORS, imitation, folder=tmp_path)
    assert run.final.success.low > 0.5
    losses = [value for _, value in metrics(tmp_path)["imitation/loss"]]
    assert losses


def test_two_runs_with_one_seed_are_equal_bit_for_bit(finished: Run, tmp_path: Path) -> None:
    again = train(DOORS, SMALL, folder=tmp_path)
    assert metrics(tmp_path) == metrics(finished.folder)
    assert weights(again) == weights(finished)
    assert stored(tmp_path) == stored(finished.folder)


def test_another_seed_is_another_run(finished: Run, tmp_path: Path) -> None:
    other = train(DOORS, {**SMALL, "seed": 1, "trainer.updates": 1}, folder=tmp_path)
    assert weights(other) != weights(finished)


def test_everything_of_a_run_is_stored(finished: Run) -> None:
    with RunStore(finished.folder / "run.sqlite") as store:
        assert store.meta()["config"]["trainer"]["updates"] == 6
        assert store.meta()["versions"]["torch"] == metadata.version("torch")
        assert [step for step, _ in store.series("success")] == [1, 2, 3, 4, 5, 6]
        assert [step for step, _ in store.series("eval/success")] == [0, 6]
        counts = store.rows("SELECT phase, step, count(*) FROM episodes GROUP BY 1, 2 ORDER BY 1, 2")
        assert counts == [("eval", 0, 8), ("eval", 6, 8), *(("train", step, 16) for step in range(1, 7))]
        versions = store.rows(
            "SELECT DISTINCT step, version FROM turns JOIN episodes ON id = episode WHERE phase = 'train' ORDER BY 1"
        )
        assert versions == [(step, step - 1) for step in range(1, 7)]
    assert sorted(path.name for path in (finished.folder / "checkpoints").iterdir()) == [
        "update-000004",
        "update-000006",
    ]
    assert list((finished.folder / "tensorboard").iterdir())


KILLED = """
import sys
from pathlib import Path
from cairn.trainer.callbacks import Callback
from cairn.trainer.stored_credit import stored_steps
from cairn.trainer.train import train
from tests.agents.tiny import shared
from tests.trainer import test_train

class Tell(Callback):
    def on_update(self, update, metrics):
        print(update, flush=True)
        if update == 5:
            sys.stdin.read()

train(test_train.DOORS, getattr(test_train, sys.argv[2]), folder=Path(sys.argv[1]), callback=Tell())
"""


@pytest.fixture(scope="module")
def finished_ahead(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(DOORS, AHEAD, folder=tmp_path_factory.mktemp("finished-ahead"))


def test_episodes_that_span_updates_stay_within_the_allowed_staleness(finished_ahead: Run) -> None:
    found = metrics(finished_ahead.folder)
    assert max(value for _, value in found["staleness/max"]) in (1.0, 2.0)
    assert all(0 < value <= 1 for _, value in found["staleness/share"][1:])
    assert all(value > 0 for _, value in found["in_flight"])
    counts = rows(
        finished_ahead.folder, "SELECT step, count(*) FROM episodes WHERE phase = 'train' GROUP BY 1 ORDER BY 1"
    )
    assert counts == [(step, 16) for step in range(1, 7)]
    members = rows(finished_ahead.folder, "SELECT group_id, count(*) FROM episodes WHERE phase = 'train' GROUP BY 1")
    assert {count for _, count in members} == {4}  # whole groups, and none twice


def test_a_small_cache_holds_back_episodes(finished_ahead: Run, tmp_path: Path) -> None:
    found = train(DOORS, {**AHEAD, "sampling.cache_tokens": 256, "trainer.updates": 2}, folder=tmp_path)
    few = [value for _, value in metrics(found.folder)["in_flight"]]
    many = [value for _, value in metrics(finished_ahead.folder)["in_flight"]][:2]
    assert max(few) < min(many) / 2


@pytest.mark.parametrize("kind", [pytest.param("SMALL", marks=pytest.mark.slow), "AHEAD"])
def test_a_killed_run_resumes_from_its_last_checkpoint(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    settings: dict[str, Any] = globals()[kind]
    finished: Run = request.getfixturevalue({"SMALL": "finished", "AHEAD": "finished_ahead"}[kind])
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path), kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    while (line := process.stdout.readline()) != "5\n":
        assert line
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert [step for step, _ in metrics(tmp_path)["success"]] == [1, 2, 3, 4, 5]

    heard = Heard()
    run = train(DOORS, settings, folder=tmp_path, callback=heard)
    assert heard.notes == ["resumed from update-000004"]
    assert heard.updates == [5, 6]
    assert metrics(tmp_path) == metrics(finished.folder)
    assert weights(run) == weights(finished)
    assert stored(tmp_path) == stored(finished.folder)
    assert rows(tmp_path, "SELECT count(*) FROM turns WHERE episode NOT IN (SELECT id FROM episodes)") == [(0,)]
    assert sorted(run.reports) == [0, 6]
    assert run.final.success == finished.final.success


INTERRUPTED = """
import select
import sys
from pathlib import Path
from cairn.trainer.callbacks import Callback
from cairn.trainer.stored_credit import stored_steps
from cairn.trainer.train import train
from tests.agents.tiny import shared
from tests.trainer.test_train import DOORS, SMALL

class Tell(Callback):
    def on_update(self, update, metrics):
        if update == 3:
            print(update, flush=True)
            while not select.select([sys.stdin], [], [], 0.1)[0]:
                pass  # a signal that comes just before a call that waits is heard after it

    def on_note(self, text):
        print(text, flush=True)

print(train(DOORS, SMALL, folder=Path(sys.argv[1]), callback=Tell()).is_finished, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupted_run_stops_after_its_update_or_at_once_and_resumes(
    times: int, finished: Run, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "3\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline().startswith("stopping at the next point that can be saved; Ctrl-C again stops now")
    if times == 2:
        process.send_signal(signal.SIGINT)
        process.wait(60)
    rest, _ = process.communicate("\n" if times == 1 else None)
    assert (process.returncode == 0, rest) == ((True, "False\n") if times == 1 else (False, ""))
    newest = max(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert newest == ("update-000003" if times == 1 else "update-000002")
    run = train(DOORS, SMALL, folder=tmp_path)
    assert run.is_finished
    assert metrics(tmp_path) == metrics(finished.folder)
    assert weights(run) == weights(finished)


class Heard(Callback):
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.updates: list[int] = []
        self.evaluations: list[int] = []

    def on_note(self, text: str) -> None:
        self.notes.append(text)

    def on_update(self, update: int, metrics: Mapping[str, float]) -> None:
        self.updates.append(update)

    def on_evaluation(self, update: int, report: Report) -> None:
        self.evaluations.append(update)


TINY = {**SMALL, "trainer.updates": 2, "trainer.checkpoint_every": 1, "imitation.episodes": 0}


def test_a_finished_run_has_nothing_left_to_do(tmp_path: Path) -> None:
    run = train(DOORS, TINY, folder=tmp_path)
    heard = Heard()
    again = train(DOORS, TINY, folder=tmp_path, callback=heard)
    assert (heard.updates, heard.evaluations) == ([], [])
    assert again.reports == run.reports
    assert again.is_finished
    shorter = train(DOORS, {**TINY, "trainer.updates": 1}, folder=tmp_path, callback=heard, resume=True)
    assert shorter.is_finished
    assert (
        heard.notes.count("Nothing is left to do: the run has 2 updates. To continue, set trainer.updates to more") == 2
    )
    longer = train(DOORS, {**TINY, "trainer.updates": 3}, folder=tmp_path, callback=heard, resume=True)
    assert heard.updates == [3]
    assert sorted(longer.reports) == [0, 2, 3]


def test_a_run_with_a_changed_prompt_does_not_resume(tmp_path: Path) -> None:
    file, folder = tmp_path / "mine.txt", tmp_path / "run"
    file.write_text("Open it.")
    reported = {"instruction_file": str(file), "format": "react", "memory": "markovian"}
    settings = {**TINY, "model.chat_template": "chatml", "agent.context": {"method": "chat", "chat": reported}}
    train(DOORS, settings, folder=folder)
    with RunStore(folder / "run.sqlite") as store:
        assert store.meta()["prompts"] == {"instruction": sha256(b"Open it.").hexdigest()}
    file.write_text("Open any.")
    with pytest.raises(ConfigError, match="was trained with another instruction"):
        train(DOORS, settings, folder=folder)
    file.write_text("Open it.\n")
    assert train(DOORS, settings, folder=folder).is_finished


def test_a_damaged_checkpoint_is_passed_over_with_a_note(tmp_path: Path) -> None:
    run = train(DOORS, TINY, folder=tmp_path)
    (run.checkpoint / "model.safetensors").write_bytes(b"torn")
    heard = Heard()
    train(DOORS, TINY, folder=tmp_path, callback=heard)
    assert "update-000002 is damaged" in heard.notes[0]
    assert heard.notes[1] == "resumed from update-000001"
    assert heard.updates == [2]


def test_an_agent_with_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    run = train(DOORS, TINY, folder=tmp_path)
    (run.checkpoint / "tokenizer.json").write_bytes(b"torn")
    with pytest.raises(ConfigError, match=r"update-000002' is damaged: .* tokenizer.json changed.*older checkpoint"):
        play_tasks(str(tmp_path), DOORS["env"]["id"], tasks=1)
    report, _ = play_tasks(str(run.checkpoint.with_name("update-000001")), DOORS["env"]["id"], tasks=1)
    assert report.failed == 0


@pytest.mark.parametrize("damage", ["manifest", "deleted"])
def test_without_any_intact_checkpoint_a_run_with_updates_is_refused_and_stays_as_it_is(
    damage: str, tmp_path: Path
) -> None:
    train(DOORS, TINY, folder=tmp_path)
    before, episodes = metrics(tmp_path), stored(tmp_path)
    for checkpoint in (tmp_path / "checkpoints").iterdir():
        shutil.rmtree(checkpoint) if damage == "deleted" else (checkpoint / "manifest.json").write_text("{}")
    found = "has no checkpoint" if damage == "deleted" else "update-000002 is damaged .* update-000001 is damaged"
    with pytest.raises(CairnError, match=rf"has 2 stored updates and cannot continue: .*{found}"):
        train(DOORS, TINY, folder=tmp_path)
    assert (metrics(tmp_path), stored(tmp_path)) == (before, episodes)


def test_a_run_that_ended_before_its_first_update_begins_again(tmp_path: Path) -> None:
    train(DOORS, {**TINY, "trainer.updates": 0}, folder=tmp_path)
    shutil.rmtree(tmp_path / "checkpoints")
    assert train(DOORS, TINY, folder=tmp_path, resume=True).is_finished
    assert rows(tmp_path, "SELECT phase, step, count(*) FROM episodes GROUP BY 1, 2") == [
        ("eval", 0, 8),
        ("eval", 2, 8),
        ("train", 1, 16),
        ("train", 2, 16),
    ]


@pytest.mark.parametrize("where", ["env.config", "eval.config"])
def test_too_many_failures_stop_the_run(where: str, tmp_path: Path) -> None:
    healthy = {"env.config": {"doom": ""}, "eval.config": {"doom": ""}}
    with pytest.raises(CairnError, match=r"episodes failed, more than trainer.max_failed_share allows.*house is gone"):
        train(DOORS, {**TINY, **healthy, where: {"doom": "abgrvw"}}, folder=tmp_path)


def test_some_failures_are_counted_and_not_trained_on(tmp_path: Path) -> None:
    doomed = {"env.config": {"doom": "r"}, "eval.config": {"doom": ""}, "trainer.max_failed_share": 0.9}
    train(DOORS, {**TINY, **doomed, "trainer.groups": 24}, folder=tmp_path)
    failed = [value for _, value in metrics(tmp_path)["failed"]]
    assert sum(failed) > 0
    stored = rows(
        tmp_path,
        "SELECT count(*), count(score), sum(turns), min(t.task), max(t.task) FROM episodes e "
        "JOIN tasks t ON t.id = e.task WHERE ending = 'failed'",
    )
    assert stored[0][:3] == (sum(failed), 0, 0)
    assert stored[0][3].startswith("red-")
    assert stored[0][4].startswith("red-")


def test_turns_of_evaluations_name_the_weights_that_played_them(finished: Run) -> None:
    sql = "SELECT DISTINCT step, version FROM turns JOIN episodes ON id = episode WHERE phase = 'eval' ORDER BY 1"
    assert rows(finished.folder, sql) == [(0, 0), (6, 6)]
    _, episodes = play_tasks(str(finished.folder), DOORS["env"]["id"], tasks=1)
    assert {turn.policy_version for turn in episodes[0].turns} == {6}


def test_an_update_whose_prompts_are_all_too_long_learns_nothing_and_is_noted(tmp_path: Path) -> None:
    (file := tmp_path / "long.txt").write_text("Open the door. " * 60)
    reported = {"instruction_file": str(file), "format": "react"}
    settings = {**TINY, "agent.context": {"method": "chat", "chat": reported}, "sampling.max_context": 64}
    settings["model.chat_template"] = "chatml"
    heard = Heard()
    run = train(DOORS, settings, folder=tmp_path / "run", callback=heard)
    assert run.is_finished
    assert heard.updates == [1, 2]
    notes = [note for note in heard.notes if "nothing to learn from" in note]
    assert len(notes) == 2
    assert "none of its 16 episodes has a turn" in notes[0]
    assert "sampling.max_context = 64" in notes[0]
    first = run.folder / "checkpoints" / "update-000001" / "model.safetensors"
    assert weights(run) == first.read_bytes()
    assert metrics(run.folder)["ended/tokens"] == [(1, 16.0), (2, 16.0)]


def test_an_update_in_which_every_episode_failed_changes_nothing(tmp_path: Path) -> None:
    doomed = {"env.config": {"doom": "abgrvw"}, "eval.config": {"doom": ""}, "trainer.max_failed_share": 1.0}
    run = train(DOORS, {**TINY, **doomed, "trainer.updates": 1}, folder=tmp_path)
    first = run.folder / "checkpoints" / "update-000000" / "model.safetensors"
    assert weights(run) == first.read_bytes()


@pytest.mark.parametrize("method", ["closure", "salt", "graphgpo", "crbc"])
def test_other_methods_train(method: str, tmp_path: Path) -> None:
    settings = {**SMALL, "trainer.updates": 2, "credit.method": method}
    found = metrics(train(DOORS, settings, folder=tmp_path).folder)
    assert [step for step, _ in found["advantage_std"]] == [1, 2]
    assert max(value for _, value in found["advantage_std"]) > 0


def test_hidden_tests_of_code_reach_the_method_that_weighs_them(tmp_path: Path) -> None:
    code = {"id": "code", "config": {"kind": "repair", "turn_limit": 2, "tests": "turns", "most_chars": 200}}
    small = {"updates": 1, "groups": 2, "group_size": 2, "threads": 1}
    shared().save(tmp_path / "model")  # a tokenizer of its own would hear the oracle repair many projects first
    tables = {"name": "code", "env": code, "trainer": small, "credit": {"method": "verpo"}}
    tables |= {"model": {"path": str(tmp_path / "model")}, "eval": {"tasks": 1, "every": 1000}}
    tables |= {"sampling": {"slots": 4, "max_context": 4096, "max_reply_tokens": 8}, "imitation": {"episodes": 0}}
    run = train(tables, folder=tmp_path / "run")
    with RunStore(run.folder / "run.sqlite") as store:
        table, _ = stored_steps(store, update=1)
    assert len(table) == 8
    assert sorted(table.channels)[:2] == ["submission", "test/0"]
    assert not np.isnan(table.channel("test/0")).any()


def test_steps_in_a_browser_are_credited_each(tmp_path: Path) -> None:
    pytest.importorskip("playwright", reason="needs Playwright: pip install -e '.[gui]'")
    if shutil.which("chromium") is None:
        pytest.skip("needs Chromium")
    pages = {"id": "gui/apps-mail", "config": {"turn_limit": 3, "token_budget": 60}}
    small = {"updates": 1, "groups": 2, "group_size": 4}
    shared().save(tmp_path / "model")
    tables = {
        "name": "gui",
        "env": pages,
        "trainer": small,
        "credit": {"method": "gigpo"},
        "agent": {"constrain": True},
    }
    tables |= {"model": {"path": str(tmp_path / "model")}, "eval": {"tasks": 1, "every": 1000}}
    tables |= {"sampling": {"slots": 8, "max_context": 8192, "max_reply_tokens": 32}, "imitation": {"episodes": 0}}
    run = train(tables, folder=tmp_path / "run")
    with RunStore(run.folder / "run.sqlite") as store:
        table, _ = stored_steps(store, update=1)
        advantages = [
            value for e in read.episodes(store, phase="train") for value in read.advantages(store, e.id)["gigpo"]
        ]
    assert len(table) == 24
    assert len(set(table.anchor.tolist())) < 24  # states are met again
    assert len(advantages) == 24


def test_anchors_may_be_observations_that_are_alike(tmp_path: Path) -> None:
    settings = {**SMALL, "trainer.updates": 1, "trainer.similarity": 0.5}
    found = metrics(train(DOORS, settings, folder=tmp_path).folder)
    assert found["anchor_coverage"][0][1] == 1.0  # a door's note is like the next one's


def test_an_oracle_that_solves_nothing_is_an_error(tmp_path: Path) -> None:
    limits = {"env.config": {"turn_limit": 1}, "imitation.episodes": 4}
    with pytest.raises(CairnError, match="'reader' solved none of 4 tasks"):
        train(DOORS, {**TINY, **limits}, folder=tmp_path)


@pytest.mark.parametrize("dtype", ["bfloat16"])
def test_other_kinds_of_numbers_train(dtype: str, tmp_path: Path) -> None:
    run = train(DOORS, {**TINY, "model.dtype": dtype}, folder=tmp_path)
    found = {name for _, name in metrics(tmp_path)["loss"]}
    assert all(value == value for value in found)
    assert run.checkpoint.name == "update-000002"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"model.dtype": "float16"}, "model.dtype"),
        ({"model.preset": "qwen3-huge"}, "model.preset: expected one of"),
        ({"model.path": "./nowhere"}, "no model at"),
    ],
)
def test_settings_that_are_not_supported_are_refused(overrides: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        train(DOORS, {**TINY, **overrides}, folder=tmp_path)


@pytest.mark.parametrize(
    "reference",
    [{"kind": "initial", "weight": 0.1}, {"kind": "ema", "weight": 0.1, "decay": 0.9}],
    ids=lambda r: r["kind"],
)
def test_a_run_in_two_parts_is_held_to_the_reference_that_one_whole_run_has(
    reference: dict[str, Any], tmp_path: Path
) -> None:
    settings = {**SMALL, "trainer.keep_checkpoints": 1, "learner.reference": reference, "model.dtype": "bfloat16"}
    whole = train(DOORS, settings, folder=tmp_path / "whole")
    train(DOORS, {**settings, "trainer.updates": 4}, folder=tmp_path / "parts")
    assert not (tmp_path / "parts" / "checkpoints" / "update-000000").exists()
    parts = train(DOORS, settings, folder=tmp_path / "parts", resume=True)
    assert weights(parts) == weights(whole)
    found = metrics(whole.folder)["kl_reference"]
    assert [step for step, _ in found] == [1, 2, 3, 4, 5, 6]
    if reference["kind"] == "initial":  # an average follows the policy, near or far
        assert found[0][1] < found[-1][1]  # it begins as the policy after the warm start
    assert all(value > 0 for _, value in found)
    assert metrics(parts.folder)["kl_reference"] == found


def test_adapters_are_trained_on_from_a_checkpoint_and_evaluated(finished: Run, tmp_path: Path) -> None:
    settings = {**SMALL, "model.path": str(finished.checkpoint), "model.lora": {"rank": 4}, "imitation.episodes": 0}
    whole = train(DOORS, settings, folder=tmp_path / "whole")
    train(DOORS, {**settings, "trainer.updates": 4}, folder=tmp_path / "parts")
    parts = train(DOORS, settings, folder=tmp_path / "parts", resume=True)
    adapter, adapter_of_whole = ((run.checkpoint / "adapter_model.safetensors").read_bytes() for run in (parts, whole))
    assert adapter == adapter_of_whole
    assert not (whole.checkpoint / "model.safetensors").exists()
    with RunStore(whole.folder / "run.sqlite") as store:
        trainable = store.meta()["trainable"]
        assert 0 < trainable < 0.5 * store.meta()["parameters"]
    report, _ = play_tasks(str(whole.folder), DOORS["env"]["id"], tasks=20)
    again, _ = play_tasks(str(whole.checkpoint), DOORS["env"]["id"], tasks=20)
    assert report == again
    assert load_pretrained(str(whole.checkpoint)).num_trainable == trainable


def test_adapters_on_a_fresh_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model.*needs model\.path"):
        train(DOORS, {**TINY, "model.lora": {"rank": 4}}, folder=tmp_path)
