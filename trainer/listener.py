"""What a training run tells whoever watches it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cairn.agents.report import Report


@dataclass(frozen=True, kw_only=True)
class Pulse:
    """How a phase that plays episodes is going."""

    in_flight: int  # episodes
    tokens_per_second: float  # computed, since the phase began
    success: float | None  # of the phase's episodes that ended; None: none has
    staleness: float | None = None  # updates between their newest weights and the present ones, on average


class Listener:
    """Hears of a run's progress; this one ignores it. Subclasses override what they care about."""

    def started(self, folder: Path, facts: Mapping[str, str]) -> None:
        """The run begins, or goes on."""

    def phase(self, name: str, total: int) -> None:
        """A phase of `total` units begins."""

    def advanced(self, count: int) -> None:
        """`count` units of the phase are done."""

    def pulsed(self, pulse: Pulse) -> None:
        """Episodes are being played."""

    def imitated(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """A pass over the demonstrations is done."""

    def updated(self, update: int, metrics: Mapping[str, float]) -> None:
        """A policy update is done."""

    def evaluated(self, update: int, report: Report) -> None:
        """An evaluation is done."""

    def noted(self, text: str) -> None:
        """Something that a person should know."""

    def counts(self) -> dict[str, float]:
        """Return what it counts itself, for the run to store with each update."""
        return {}
