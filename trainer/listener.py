"""What a training run tells whoever watches it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cairn.agents.report import Report


class Listener:
    """Hears of a run's progress; this one ignores it. Subclasses override what they care about."""

    def started(self, folder: Path, facts: Mapping[str, str]) -> None:
        """The run begins, or goes on."""

    def phase(self, name: str, total: int) -> None:
        """A phase of `total` units begins."""

    def advanced(self, count: int) -> None:
        """`count` units of the phase are done."""

    def imitated(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """A pass over the demonstrations is done."""

    def updated(self, update: int, metrics: Mapping[str, float]) -> None:
        """A policy update is done."""

    def evaluated(self, update: int, report: Report) -> None:
        """An evaluation is done."""

    def noted(self, text: str) -> None:
        """Something that a person should know."""
