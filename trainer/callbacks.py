"""Progress of a training run: the callback interface, and progress reports of rollouts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cairn.agents.evaluation.report import Report
from cairn.core.records import Episode


@dataclass(frozen=True, kw_only=True)
class RolloutProgress:
    """The progress of a phase that plays episodes."""

    in_flight: int  # episodes
    tokens_per_second: float  # measured since the phase began
    success: float | None  # success rate of the phase's finished episodes; None: none has finished
    staleness: float | None = None  # mean number of updates since the episodes' newest weights


class Callback:
    """Base callback of a run's events; every method does nothing by default."""

    def on_start(self, folder: Path, facts: Mapping[str, str]) -> None:
        """A run starts or resumes."""

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
        """A message for the user is available."""

    def counts(self) -> dict[str, float]:
        """Return the callback's own metrics, which the run stores with each update."""
        return {}


class PhaseTimer:
    """Announces the phases of a run to its callback, and measures their wall time."""

    def __init__(self, callback: Callback) -> None:
        self.callback = callback
        self.seconds: dict[str, float] = {}  # the last duration of each phase

    @contextmanager
    def phase(self, name: str, total: int) -> Iterator[None]:
        """Announce a phase of `total` units, and measure the block."""
        self.callback.on_phase(name, total)
        began = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began


_EVERY_S = 0.25


class RolloutProgressMeter:
    """Measures the progress of a phase from its episodes and its computed tokens."""

    def __init__(
        self,
        callback: Callback,
        in_flight: Callable[[], int],
        tokens: Callable[[], int],
        version: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the measurement.

        Args:
            callback: receives the progress.
            in_flight: returns the episodes in flight.
            tokens: returns the tokens computed so far.
            version: of the current weights; None: staleness is not reported.
            clock: returns the time in seconds.
        """
        self._callback, self._in_flight, self._tokens, self._version, self._clock = (
            callback, in_flight, tokens, version, clock,
        )  # fmt: skip
        self._began, self._first = clock(), tokens()
        self._reported_at = self._began
        self._outcomes: list[bool] = []
        self._behind: list[int] = []

    def ended(self, episode: Episode) -> None:
        """Record an episode and advance the phase by one."""
        if episode.success is not None:
            self._outcomes.append(episode.success)
        versions = [turn.policy_version for turn in episode.turns if turn.policy_version is not None]
        if self._version is not None and versions:
            self._behind.append(self._version - max(versions))
        self._callback.on_advance(1)
        self.beat()

    def beat(self) -> None:
        """Report the progress, at most once per interval."""
        now = self._clock()
        if now - self._reported_at < _EVERY_S:
            return
        self._reported_at = now
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
