"""Success with its interval; scored and counted episodes."""

from __future__ import annotations

import json
import math

import pytest

from cairn.agents.evaluation.report import Rate, Report, summarise
from cairn.core.records import Ending, Episode, Observation, Task, Turn


def test_the_interval_of_no_episodes_is_from_0_to_1() -> None:
    rate = Rate.of([])
    assert (rate.low, rate.high) == (0.0, 1.0)
    assert math.isnan(rate.share)


def test_a_rate_is_printed_with_its_interval() -> None:
    assert str(Rate.of([True, True, False, False])) == "50.0 % [15.0, 85.0]"


def episode(task: str, score: float | None, turns: int) -> Episode:
    turn = Turn(observation=Observation(text="", anchor=0), reply_text="", action="", reward=0.0)
    return Episode(
        task=Task(env_id="e", task_id=task),
        group_id=0,
        turns=(turn,) * turns,
        ending=Ending.terminated() if score is not None else Ending.failed("environment", "died"),
        score=score,
        success=None if score is None else score == 1.0,
    )


PLAYED = [episode("pick-1", 1.0, 3), episode("pick-2", 0.5, 5), episode("heat-1", 1.0, 7), episode("heat-2", None, 1)]


def test_failed_episodes_are_counted_and_not_scored() -> None:
    report = summarise(PLAYED, lambda task: task.split("-")[0])
    assert (report.success.successes, report.success.episodes, report.failed) == (2, 3, 1)
    assert {name: (r.successes, r.episodes) for name, r in report.by_type.items()} == {"heat": (1, 1), "pick": (1, 2)}
    assert list(report.by_type) == ["heat", "pick"]
    assert report.mean_score == pytest.approx(2.5 / 3)
    assert report.mean_turns == 5.0


def test_the_ceiling_is_the_share_of_scored_tasks_that_can_be_solved() -> None:
    assert summarise(PLAYED, lambda task: task).ceiling == 1.0
    assert summarise(PLAYED, lambda task: task, lambda task: task != "pick-1").ceiling == pytest.approx(2 / 3)
    assert summarise([PLAYED[3]], lambda task: task, lambda task: False).ceiling == 1.0


def test_an_old_report_without_a_ceiling_has_the_ceiling_1() -> None:
    tables = summarise(PLAYED, lambda task: task).to_dict()
    del tables["ceiling"]
    assert Report.from_dict(tables).ceiling == 1.0


def test_a_report_of_failed_episodes_only_is_valid() -> None:
    report = summarise([PLAYED[3]], lambda task: task)
    assert (report.success.episodes, report.failed, report.mean_turns) == (0, 1, 0.0)


def test_a_report_survives_json() -> None:
    report = summarise(PLAYED, lambda task: task.split("-")[0])
    tables = json.loads(json.dumps(report.to_dict()))
    assert tables["success_rate"] == pytest.approx(2 / 3)
    assert Report.from_dict(tables) == report
