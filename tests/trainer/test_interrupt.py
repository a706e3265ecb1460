"""Ctrl-C stops a run soon in every phase, and the run then continues to the same weights and metrics."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from cairn.agents.agent import contexts
from cairn.agents.evaluation.report import Report
from cairn.core.config import flatten
from cairn.core.errors import CairnError
from cairn.core.store import RunStore
from cairn.trainer.callbacks import Callback
from cairn.trainer.run.result import Run
from cairn.trainer.sft import Imitation, demonstrations
from cairn.trainer.train import train
from tests.agents.tiny import policy
from tests.trainer.test_sft import demos, run_config
from tests.trainer.test_train import DOORS, SMALL, metrics, stored, weights

pytestmark = pytest.mark.rotating(5)

ROOT = Path(__file__).parents[2]
WARM = {**SMALL, "trainer.updates": 1, "imitation.episodes": 40, "imitation.epochs": 3, "imitation.batch": 4}


class Interrupts(Callback):
    """Sends Ctrl-C to this process at one moment of the run, and records later events."""

    def __init__(self, phase: str, after: int = 0) -> None:
        self.phase_name, self.after = phase, after
        self.now = ""
        self.heard: list[str] = []
        self.is_sent = False

    def on_phase(self, name: str, total: int) -> None:
        self.now = name
        self._record(name)
        if (name, self.after) == (self.phase_name, 0):
            self._send()

    def on_advance(self, count: int) -> None:
        if self.now == self.phase_name and self.after:
            self.after -= 1
            if not self.after:
                self._send()

    def on_sft_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        self._record(f"pass {epoch}")
        self.on_advance(1)

    def on_evaluation(self, update: int, report: Report) -> None:
        self._record(f"evaluated {update}")

    def on_update(self, update: int, metrics: Mapping[str, float]) -> None:
        self._record(f"update {update}")

    def _record(self, text: str) -> None:
        if self.is_sent:
            self.heard.append(text)

    def _send(self) -> None:
        if not self.is_sent:
            self.is_sent = True
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(DOORS, WARM, folder=tmp_path_factory.mktemp("finished"))


@pytest.mark.parametrize(
    ("phase", "after", "heard", "checkpoints"),
    [
        ("demonstrate", 3, [], []),
        ("imitate", 0, [], ["update-000000"]),
        ("imitate", 1, [], ["update-000000"]),
        ("evaluate", 2, [], ["update-000000"]),
    ],
)
def test_a_warm_start_stops_at_once_and_continues_to_the_same_weights(
    phase: str, after: int, heard: list[str], checkpoints: list[str], finished: Run, tmp_path: Path
) -> None:
    interrupts = Interrupts(phase, after)
    run = train(DOORS, WARM, folder=tmp_path, callback=interrupts)
    assert interrupts.is_sent
    assert interrupts.heard == heard  # no further pass, no evaluation, no update
    assert not run.is_finished
    assert not run.reports
    found = tmp_path / "checkpoints"
    assert sorted(path.name for path in found.glob("*")) == checkpoints
    assert end_of(tmp_path) == ("stopped", "Stopped after update 0: SIGINT")
    again = train(DOORS, WARM, folder=tmp_path)
    assert again.is_finished
    assert weights(again) == weights(finished)
    assert metrics(tmp_path) == metrics(finished.folder)
    assert stored(tmp_path) == stored(finished.folder)
    assert end_of(tmp_path) == ("finished", "Finished after update 1")


class Fails(Callback):
    """Raises after an update, or sends a signal."""

    def __init__(self, error: BaseException | signal.Signals) -> None:
        self.error = error

    def on_update(self, update: int, metrics: Mapping[str, float]) -> None:
        if isinstance(self.error, BaseException):
            raise self.error
        os.kill(os.getpid(), self.error)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("of mine"), "ValueError: of mine"),
        (CairnError("No room"), "No room"),
        (KeyboardInterrupt(), "SIGINT, twice"),
        (SystemExit(3), "SystemExit: 3"),
        (signal.SIGTERM, "SIGTERM"),
    ],
    ids=repr,
)
def test_why_a_run_stopped_is_in_its_folder(error: BaseException | signal.Signals, reason: str, tmp_path: Path) -> None:
    settings = {**SMALL, "trainer.updates": 2, "imitation.episodes": 0}
    if isinstance(error, BaseException):
        with pytest.raises(type(error)):
            train(DOORS, settings, folder=tmp_path, callback=Fails(error))
    else:
        assert not train(DOORS, settings, folder=tmp_path, callback=Fails(error)).is_finished
    assert end_of(tmp_path) == ("stopped", f"Stopped after update 1: {reason}")


def end_of(folder: Path) -> tuple[str, str]:
    """Return the newest event of a run."""
    with RunStore.read(folder) as store:
        ((kind, text),) = store.rows("SELECT kind, text FROM events ORDER BY id DESC LIMIT 1")
    return kind, text


def test_a_pass_that_was_interrupted_continues_at_its_next_batch() -> None:
    config = run_config().model_copy(update={"imitation": run_config().imitation.model_copy(update={"epochs": 2})})
    shown = demos(config)
    whole, parts = policy(0), policy(0)
    expected = list(Imitation(whole, shown, config.imitation, config).passes())
    first = Imitation(parts, shown, config.imitation, config)
    asked = iter([False, False, True])
    assert list(first.passes(lambda: next(asked))) == []
    assert first.learner.steps == 2
    second = Imitation(parts, shown, config.imitation, config)
    second.learner.optimizer.load_tensors(first.learner.optimizer.tensors())
    second.learner.steps = first.learner.steps
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert list(second.passes()) == expected
    for one, two in zip(parts.model.parameters(), whole.model.parameters(), strict=True):
        assert one.equal(two)


def test_demonstrations_stop_before_the_next_task() -> None:
    config, seen = run_config(), list[int]()
    shown = demonstrations(
        config, contexts(config.agent, policy(0)), lambda _: seen.append(1), (), lambda: len(seen) >= 2
    )
    assert len(seen) == 2
    assert len(shown) <= 2


COMMAND = """
import os, signal
from cairn.cli import main
from cairn.cli._shared import training_view

class Interrupts(training_view.TrainingView):
    def on_sft_epoch(self, epoch, metrics):
        super().on_sft_epoch(epoch, metrics)
        os.kill(os.getpid(), signal.SIGINT)

training_view.TrainingView = Interrupts
main.app()
"""


def test_the_command_exits_with_130_and_prints_the_command_to_continue(tmp_path: Path) -> None:
    (file := tmp_path / "doors.toml").write_text('env.id = "tests.trainer.doomed:Doomed"')
    settings = {key: value for key, value in flatten(DOORS).items() if key != "env.id"} | WARM
    settings |= {"imitation.episodes": 4, "eval.tasks": 2}
    flags = [flag for key, value in settings.items() for flag in ("--set", f"{key}={json.dumps(value)}")]
    command = [sys.executable, "-c", COMMAND, "train", str(file), "--folder", str(tmp_path / "run"), *flags]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 130, done.stderr
    assert "Stopped before the end. Continue with:" in done.stdout
    assert "--resume" in done.stdout
    assert "Traceback" not in done.stderr
