"""Progress reports to a callback in a phase, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.trainer import callbacks
from cairn.trainer.callbacks import Callback, RolloutProgress, RolloutProgressMeter
from cairn.trainer.train import train
from tests.trainer.test_train import AHEAD, DOORS


class Heard(Callback):
    def __init__(self) -> None:
        self.pulses: list[RolloutProgress] = []
        self.done = 0

    def on_advance(self, count: int) -> None:
        self.done += count

    def on_progress(self, pulse: RolloutProgress) -> None:
        self.pulses.append(pulse)


def episode(success: bool | None, *versions: int) -> Episode:
    seen = Observation(text="", anchor=0)
    ending = Ending.terminated() if success is not None else Ending.failed("environment", "it died")
    return Episode(
        task=Task(env_id="e", task_id="t"),
        group_id=0,
        turns=tuple(Turn(observation=seen, reply_text="", action="", reward=0.0, policy_version=v) for v in versions),
        ending=ending,
        score=None if success is None else float(success),
        success=success,
    )


def test_rates_are_since_the_beginning_and_failures_do_not_count_as_outcomes() -> None:
    heard, now, tokens = Heard(), [100.0], [1000]
    meter = RolloutProgressMeter(heard, lambda: 7, lambda: tokens[0], version=5, clock=lambda: now[0])
    now[0], tokens[0] = 102.0, 1600
    meter.ended(episode(True, 3, 4))  # newest weights: one update behind
    now[0] = 102.1
    meter.ended(episode(None, 5))  # too early for another report
    now[0] = 104.0
    meter.ended(episode(False, 5))
    assert heard.done == 3
    assert heard.pulses == [
        RolloutProgress(in_flight=7, tokens_per_second=300.0, success=1.0, staleness=1.0),
        RolloutProgress(in_flight=7, tokens_per_second=150.0, success=0.5, staleness=1 / 3),
    ]


def test_a_run_reports_progress_during_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callbacks, "_EVERY_S", 0.0)  # its phases may be over before it is time
    heard = Heard()
    train(DOORS, {**AHEAD, "trainer.updates": 2}, folder=tmp_path, callback=heard)
    assert heard.pulses
    assert max(reported.in_flight for reported in heard.pulses) > 4
    assert all(reported.tokens_per_second > 0 for reported in heard.pulses)
