"""Progress of a training run: the callback of its events, and reports on phases that play episodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cairn.agents.evaluation.report import Report
from cairn.core.records import Episode


@dataclass(frozen=True, kw_only=True)
class RolloutProgress:
    """How a phase that plays episodes is going."""

    in_flight: int  # episodes
    tokens_per_second: float  # computed, since the phase began
    success: float | None  # of the phase's episodes that ended; None: none has
    staleness: float | None = None  # updates between their newest weights and the present ones, on average


class Callback:
    """Hears of a run's progress; this one ignores it. Subclasses override what they care about."""

    def on_start(self, folder: Path, facts: Mapping[str, str]) -> None:
        """The run begins, or goes on."""

    def on_phase(self, name: str, total: int) -> None:
        """A phase of `total` units begins."""

    def on_advance(self, count: int) -> None:
        """`count` units of the phase are done."""

    def on_progress(self, pulse: RolloutProgress) -> None:
        """Episodes are being played."""

    def on_sft_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """A pass over the demonstrations is done."""

    def on_update(self, update: int, metrics: Mapping[str, float]) -> None:
        """A policy update is done."""

    def on_evaluation(self, update: int, report: Report) -> None:
        """An evaluation is done."""

    def on_note(self, text: str) -> None:
        """Something that a person should know."""

    def counts(self) -> dict[str, float]:
        """Return what it counts itself, for the run to store with each update."""
        return {}


_EVERY_S = 0.25


class RolloutProgressMeter:
    """Counts what ends and what is computed since its making."""

    def __init__(
        self,
        callback: Callback,
        in_flight: Callable[[], int],
        tokens: Callable[[], int],
        version: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to measure.

        Args:
            callback: is told.
            in_flight: returns the episodes in flight.
            tokens: returns the tokens computed so far.
            version: of the present weights; None: staleness is not told.
            clock: seconds.
        """
        self._callback, self._in_flight, self._tokens, self._version, self._clock = (
            callback, in_flight, tokens, version, clock,
        )  # fmt: skip
        self._began, self._first = clock(), tokens()
        self._told = self._began
        self._outcomes: list[bool] = []
        self._behind: list[int] = []

    def ended(self, episode: Episode) -> None:
        """Take note of an episode and move the phase on by one."""
        if episode.success is not None:
            self._outcomes.append(episode.success)
        versions = [turn.policy_version for turn in episode.turns if turn.policy_version is not None]
        if self._version is not None and versions:
            self._behind.append(self._version - max(versions))
        self._callback.on_advance(1)
        self.beat()

    def beat(self) -> None:
        """Tell, if it is time to."""
        now = self._clock()
        if now - self._told < _EVERY_S:
            return
        self._told = now
        self._callback.on_progress(
            RolloutProgress(
                in_flight=self._in_flight(),
                tokens_per_second=(self._tokens() - self._first) / (now - self._began),
                success=_mean(self._outcomes),
                staleness=_mean(self._behind),
            )
        )


def _mean(values: list[bool] | list[int]) -> float | None:
    return sum(values) / len(values) if values else None
