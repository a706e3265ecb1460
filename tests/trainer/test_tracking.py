"""Trackers beside a run: their messages, and that none of them can stop or delay the run."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cairn.core.errors import ConfigError
from cairn.core.plugins import Plugin
from cairn.trainer.callbacks import Callback
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.trackers.base import TrackedRun, Tracker, TrackerConfig
from cairn.trainer.tracking import MOST_WAITING, Tracking, build_trackers
from tests.trainer.trackers.tracked import REPORT

PATIENCE_S = 60.0  # far more than anything here takes


class Keeps(Tracker):
    """Keeps all messages in a list."""

    def __init__(self, config: TrackerConfig | None = None, run: TrackedRun | None = None) -> None:
        self.run = run
        self.kept: list[tuple[Any, ...]] = []

    def open(self) -> None:
        self.kept.append(("open",))

    def write(self, phase: str, step: int, metrics: Mapping[str, float]) -> None:
        self.kept.append((phase, step, dict(metrics)))

    def close(self, *, has_failed: bool) -> None:
        self.kept.append(("close", has_failed))


KEEPS = Plugin(TrackerConfig, Keeps)


class NoLogin(Keeps):
    def open(self) -> None:
        raise PermissionError("not logged in\nand more")


class ServerGone(Keeps):
    def write(self, phase: str, step: int, metrics: Mapping[str, float]) -> None:
        if step % 2:
            raise ConnectionError(f"no server at step {step}")
        super().write(phase, step, metrics)


class Stuck(Keeps):
    """Waits for a server that does not answer, until the test lets it go."""

    def __init__(self) -> None:
        super().__init__()
        self.is_free = threading.Event()

    def open(self) -> None:
        self.is_free.wait(PATIENCE_S)


class Notes(Callback):
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.updates: list[int] = []

    def on_note(self, text: str) -> None:
        self.notes.append(text)

    def on_update(self, update: int, metrics: Mapping[str, float]) -> None:
        self.updates.append(update)


def reported(*trackers: Tracker, updates: int = 4) -> tuple[Notes, float]:
    notes = Notes()
    with Tracking({type(each).__name__: each for each in trackers}, notes, close_s=PATIENCE_S) as tracking:
        for update in range(1, updates + 1):
            tracking.on_update(update, {"success": update / 10})
    return notes, tracking.counts()["trackers_lost"]


def test_a_tracker_receives_metrics_in_order() -> None:
    keeps, notes = Keeps(), Notes()
    metrics = {"success": 0.5}
    with Tracking({"keeps": keeps}, notes, close_s=PATIENCE_S) as tracking:
        tracking.on_start(Path("runs/x"), {})
        tracking.on_sft_epoch(1, {"loss": 0.25})
        tracking.on_evaluation(0, REPORT)
        tracking.on_update(1, metrics)
        metrics["success"] = 9.0  # later changes do not affect sent metrics
    rates = {"success": 0.75, "success/look (at)": 0.5, "success/pick": 1.0, "turns": 6.5}
    assert keeps.kept == [
        ("open",), ("imitation", 1, {"loss": 0.25}), ("eval", 0, rates), ("train", 1, {"success": 0.5}),
        ("close", False),
    ]  # fmt: skip
    assert (notes.updates, notes.notes, tracking.counts()) == ([1], [], {"trackers_lost": 0.0})


def test_a_tracker_that_cannot_start_is_noted_once_and_the_others_continue() -> None:
    keeps, no_login = Keeps(), NoLogin()
    notes, lost = reported(no_login, keeps)
    assert notes.updates == [1, 2, 3, 4]
    assert notes.notes == [
        "tracker NoLogin: PermissionError: not logged in. The run continues",
        "tracker NoLogin: 4 of 4 messages were lost",
    ]
    assert (lost, no_login.kept, len(keeps.kept)) == (4.0, [], 6)


def test_a_server_that_returns_misses_the_messages_of_its_absence() -> None:
    gone = ServerGone()
    notes, lost = reported(gone)
    assert [each[1] for each in gone.kept if each[0] == "train"] == [2, 4]
    assert notes.notes == [
        "tracker ServerGone: ConnectionError: no server at step 1. The run continues",
        "tracker ServerGone: 2 of 4 messages were lost",
    ]
    assert lost == 2.0


def test_a_tracker_that_does_not_answer_holds_nothing_up() -> None:
    stuck, notes = Stuck(), Notes()
    with Tracking({"stuck": stuck}, notes, close_s=0.01) as tracking:
        for update in range(1, MOST_WAITING + 6):
            tracking.on_update(update, {})
        assert tracking.counts() == {"trackers_lost": 5.0}
        assert notes.notes == [f"tracker stuck: it is slower than the run: {MOST_WAITING} messages wait for it. "
                               "The run continues"]  # fmt: skip
    assert notes.notes[1:] == [f"tracker stuck: {MOST_WAITING + 5} of {MOST_WAITING + 5} messages were lost"]
    stuck.is_free.set()


def test_a_failed_run_is_reported_as_failed() -> None:
    keeps = Keeps()
    with pytest.raises(ZeroDivisionError), Tracking({"keeps": keeps}, Callback(), close_s=PATIENCE_S):
        raise ZeroDivisionError
    assert keeps.kept == [("open",), ("close", True)]


def config(trackers: object) -> RunConfig:
    return load_run_config({"env": {"id": "examples.doors:Doors"}, "trackers": trackers})


def test_tensorboard_is_on_unless_it_is_turned_off(tmp_path: Path) -> None:
    assert list(build_trackers(config({}), tmp_path)) == ["tensorboard"]
    assert list(build_trackers(config({"tensorboard": {"on": False}}), tmp_path)) == []


def test_a_table_turns_a_tracker_on(tmp_path: Path) -> None:
    place = f"{__name__}:KEEPS"
    found = build_trackers(config({place: {}}), tmp_path)
    assert list(found) == ["tensorboard", place]
    keeps = found[place]
    assert isinstance(keeps, Keeps)
    assert keeps.run is not None
    assert (keeps.run.folder, keeps.run.config["env"]["id"]) == (tmp_path, "examples.doors:Doors")
    assert set(keeps.run.versions) >= {"torch", "transformers"}


@pytest.mark.parametrize(
    ("trackers", "message"),
    [
        ({"wandbb": {}}, "Did you mean 'wandb'"),
        ({"wandb": {"projct": "x"}}, r"trackers\.wandb: unknown key 'projct'; did you mean 'project'"),
        ({"wandb": {"mode": "of"}}, r"trackers\.wandb: mode: Input should be 'online' or 'offline', got 'of'"),
        ({"mlflow": True}, r"trackers\.mlflow: expected a table of settings"),
    ],
)
def test_a_wrong_setting_is_refused_when_the_configuration_is_loaded(trackers: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(trackers)
