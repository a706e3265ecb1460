"""A run that is reported to trackers in the order of the trainer."""

from __future__ import annotations

from pathlib import Path

from cairn.agents.evaluation.report import Rate, Report
from cairn.trainer.trackers.base import TrackedRun, Tracker

REPORT = Report(
    success=Rate(successes=3, episodes=4, low=0.3, high=0.95),
    by_type={
        "look (at)": Rate(successes=1, episodes=2, low=0.1, high=0.9),
        "pick": Rate(successes=2, episodes=2, low=0.3, high=1.0),
    },
    mean_score=0.75,
    mean_turns=6.5,
    failed=0,
    ceiling=1.0,
)


def run_in(folder: Path, **trainer: object) -> TrackedRun:
    folder.mkdir(exist_ok=True)
    config = {"name": "doors", "trainer": {"updates": 2, **trainer}, "env": {"config": {}}}
    return TrackedRun(folder=folder, config=config, versions={"torch": "2.13.0"})


def tell(tracker: Tracker) -> None:
    """A warm start, an evaluation, an update, and that update again after the run went back."""
    tracker.open()
    tracker.on_sft_epoch(1, {"loss": 0.5})
    tracker.on_evaluation(0, REPORT)
    tracker.on_update(1, {"success": 0.25, "seconds/learn": 2.0})
    tracker.on_update(1, {"success": 0.5})
    tracker.close(has_failed=False)
