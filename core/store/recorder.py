"""The interface by which a run writes its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cairn.core.records import Episode


class Recorder(Protocol):
    """Receives the records of a run: a `RunStore`, or a client of a store in another process."""

    def set_meta(self, values: Mapping[str, Any]) -> None:  # Any: any JSON value
        """Store facts about the run."""

    def meta(self) -> dict[str, Any]:  # Any: any JSON value
        """Return the facts about the run."""

    def environment(self, env: str, version: int, config: Mapping[str, Any]) -> None:  # Any: any JSON value
        """Store a version of an environment that the run uses, with its settings."""

    def add(
        self,
        step: int,
        metrics: Mapping[str, float],
        episodes: Sequence[Episode] = (),
        *,
        phase: str = "train",
        task_types: Sequence[str] | None = None,
        advantages: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """Store one step's metrics and episodes.

        Args:
            step: the number of updates so far.
            metrics: values by name.
            episodes: those that ended.
            phase: train or eval.
            task_types: one per episode.
            advantages: by method, one value per turn of all episodes.
        """

    def checkpoint(self, step: int, folder: str) -> None:
        """Store that a checkpoint was saved."""

    def event(self, step: int, kind: str, text: str) -> None:
        """Store an event that the user should know about."""

    def series(self, name: str) -> list[tuple[int, float]]:
        """Return (step, value) pairs of one metric, by step."""

    def forget_after(self, step: int) -> None:
        """Delete all records of steps later than `step`."""

    def flush(self) -> None:
        """Return once all writes are in the file."""
