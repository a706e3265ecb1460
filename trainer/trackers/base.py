"""What a tracker is: a callback that keeps a run's configuration and metrics somewhere else, for pictures of many runs.

It works on a thread of its own (`trainer/tracking.py`), so it may wait and it may raise: neither reaches the run. It
keeps numbers and texts alone; episodes and weights stay in the run's folder, to which it keeps the way.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

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
    """What a tracker is told of a run before it begins."""

    folder: Path  # absolute
    config: Mapping[str, Any]  # resolved tables  # Any: whatever JSON can hold
    versions: Mapping[str, str]  # of what results depend on

    @property
    def name(self) -> str:
        """What people see."""
        return self.folder.name

    @property
    def link(self) -> str:
        """The folder as an address that a browser opens."""
        return self.folder.as_uri()

    @property
    def settings(self) -> dict[str, str]:
        """Every setting under its dotted name, as text."""
        return {name: str(value) for name, value in flatten(self.config).items()}

    def identity(self, tracker: str, new: Callable[[], str]) -> str:
        """Return what the tracker calls this run: noted in the folder, so that a run which goes on stays the same."""
        file = self.folder / "trackers" / f"{tracker}.txt"
        if not file.is_file():
            file.parent.mkdir(exist_ok=True)
            file.write_text(new(), encoding="utf-8")
        return file.read_text(encoding="utf-8")


class Tracker(Callback):
    """Keeps a run's metrics. A plug-in is a subclass with a `Config`, exported as ``TRACKER``."""

    Config: ClassVar[type[TrackerConfig]] = TrackerConfig

    def __init__(self, config: Any, run: TrackedRun) -> None:  # Any: an instance of its own Config
        """Take note of both; nothing begins before `open`."""

    @classmethod
    def check(cls) -> None:
        """Refuse to begin where its packages are missing.

        Raises:
            MissingExtraError: they are.
        """

    @abstractmethod
    def open(self) -> None:
        """Begin, or go on with, what it keeps of the run; called once, before anything else."""

    @abstractmethod
    def write(self, phase: str, step: int, metrics: Mapping[str, float]) -> None:
        """Keep metrics of a phase: imitation (steps are passes), train or eval (steps are updates)."""

    @abstractmethod
    def close(self, *, has_failed: bool) -> None:
        """The run is over; called once, if `open` went well."""

    def on_sft_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Keep the pass's metrics."""
        self.write("imitation", epoch, metrics)

    def on_update(self, update: int, metrics: Mapping[str, float]) -> None:
        """Keep the update's metrics."""
        self.write("train", update, metrics)

    def on_evaluation(self, update: int, report: Report) -> None:
        """Keep success, in all and by task type."""
        rates = {"success": report.success.share, **{f"success/{k}": rate.share for k, rate in report.by_type.items()}}
        self.write("eval", update, {**rates, "turns": report.mean_turns})
