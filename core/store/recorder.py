"""What a run tells its store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cairn.core.records import Episode


class Recorder(Protocol):
    """Where a run puts what it finds out: a `RunStore`, or one that is elsewhere."""

    def set_meta(self, values: Mapping[str, Any]) -> None:  # Any: whatever JSON can hold
        """Store facts about the run."""

    def meta(self) -> dict[str, Any]:  # Any: whatever JSON can hold
        """Return the facts about the run."""

    def environment(self, env: str, version: int, config: Mapping[str, Any]) -> None:  # Any: whatever JSON can hold
        """Store which version of an environment is played, and with which settings."""

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
        """Store one step's metrics and episodes; `advantages` has, by method, one value a turn of all."""

    def checkpoint(self, step: int, folder: str) -> None:
        """Store that a checkpoint was saved."""

    def event(self, step: int, kind: str, text: str) -> None:
        """Store that something happened that a person should know."""

    def series(self, name: str) -> list[tuple[int, float]]:
        """Return (step, value) pairs of one metric, by step."""

    def forget_after(self, step: int) -> None:
        """Delete everything later than `step`."""

    def flush(self) -> None:
        """Return when all of it is in the file."""
