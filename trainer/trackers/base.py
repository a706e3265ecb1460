"""The interface of trackers, callbacks that send configuration and metrics elsewhere.

A tracker runs on its own thread (`trainer/tracking.py`), so that delays and exceptions do not affect the run. It stores
numbers and texts only; episodes and weights stay in the run's folder, whose path it stores.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from cairn.agents.evaluation.report import Report
from cairn.core.config import Config as BaseConfig
from cairn.core.config import flatten
from cairn.trainer.callbacks import Callback


class TrackerConfig(BaseConfig):
    """Settings of every tracker."""

    on: bool = Field(True, description="Whether it keeps the run.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedRun:
    """The description of a run for a tracker, before the run begins."""

    folder: Path  # absolute
    config: Mapping[str, Any]  # resolved tables  # Any: JSON values
    versions: Mapping[str, str]  # of the packages that affect results

    @property
    def name(self) -> str:
        """The displayed name."""
        return self.folder.name

    @property
    def link(self) -> str:
        """The folder as a file URL."""
        return self.folder.as_uri()

    @property
    def settings(self) -> dict[str, str]:
        """Every setting under its dotted name, as text."""
        return {name: str(value) for name, value in flatten(self.config).items()}

    def identity(self, tracker: str, new: Callable[[], str]) -> str:
        """Return the tracker's id of this run; it is stored in the folder and reused after a resume."""
        file = self.folder / "trackers" / f"{tracker}.txt"
        if not file.is_file():
            file.parent.mkdir(exist_ok=True)
            file.write_text(new(), encoding="utf-8")
        return file.read_text(encoding="utf-8")


class Tracker(Callback):
    """Keeps a run's metrics. A plug-in is ``TRACKER = Plugin(config, subclass)``."""

    def __init__(self, config: Any, run: TrackedRun) -> None:  # Any: an instance of its own Config
        """Store both; tracking starts with `open`."""

    @abstractmethod
    def open(self) -> None:
        """Start or resume tracking; called once, before all other methods."""

    @abstractmethod
    def write(self, phase: str, step: int, metrics: Mapping[str, float]) -> None:
        """Store metrics of a phase: imitation (steps are passes), train or eval (steps are updates)."""

    @abstractmethod
    def close(self, *, has_failed: bool) -> None:
        """End tracking at the end of the run; called once, if `open` succeeded."""

    def on_sft_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Store the pass's metrics."""
        self.write("imitation", epoch, metrics)

    def on_update(self, update: int, metrics: Mapping[str, float]) -> None:
        """Store the update's metrics."""
        self.write("train", update, metrics)

    def on_evaluation(self, update: int, report: Report) -> None:
        """Store success, overall and by task type."""
        rates = {"success": report.success.share, **{f"success/{k}": rate.share for k, rate in report.by_type.items()}}
        self.write("eval", update, {**rates, "turns": report.mean_turns})
