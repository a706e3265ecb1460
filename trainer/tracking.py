"""Passes a run's events to trackers, each on its own thread, without delay for the run.

Messages that a tracker cannot process are dropped and counted (metric ``trackers_lost``). Its first problem is noted
once: it could not start (no login, no server), it raised an exception, or more than `MOST_WAITING` messages were
queued. At the end of the run all trackers together have `CLOSE_S` seconds to finish; after that, they work in the
background until the process ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType

from cairn.agents.evaluation.report import Report
from cairn.core.plugins import TRACKERS, Plugin
from cairn.trainer.callbacks import Callback, RolloutProgress
from cairn.trainer.config import RunConfig
from cairn.trainer.run.result import versions
from cairn.trainer.trackers.base import TrackedRun, Tracker, TrackerConfig

MOST_WAITING = 1000  # messages to one tracker
CLOSE_S = 30.0  # for all trackers together

_Message = Callable[[Tracker], None]


def build_trackers(config: RunConfig, folder: Path) -> dict[str, Tracker]:
    """Return the trackers that are enabled in the run's settings, by name, before `open`.

    Raises:
        MissingExtraError: a tracker's packages are not installed.
    """
    run = TrackedRun(folder=folder.resolve(), config=config.model_dump(mode="json"), versions=versions())
    found: dict[str, Tracker] = {}
    for name, settings in config.trackers.chosen().items():
        plugin: Plugin[TrackerConfig] = TRACKERS.load(name)
        plugin.check_installed()
        found[name] = plugin.make(settings, run)
    return found


class Tracking(Callback):
    """Passes all events to a callback, and metrics to trackers; use as a context manager."""

    def __init__(self, trackers: Mapping[str, Tracker], then: Callback, close_s: float = CLOSE_S) -> None:
        self._apart = [_TrackerThread(name, tracker) for name, tracker in trackers.items()]
        self._then, self._close_s = then, close_s

    def __enter__(self) -> Tracking:
        for apart in self._apart:
            apart.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for apart in self._apart:
            apart.end(has_failed=kind is not None)
        left_s = self._close_s
        for apart in self._apart:
            left_s -= apart.wait(max(left_s, 0.0))
        self._tell_problems()
        for apart in self._apart:
            if apart.lost:
                self._then.on_note(f"tracker {apart.name}: {apart.lost} of {apart.num_sent} messages were lost")

    def counts(self) -> dict[str, float]:
        """Return the number of messages that trackers have lost."""
        return {**self._then.counts(), "trackers_lost": float(sum(apart.lost for apart in self._apart))}

    def on_start(self, folder: Path, facts: Mapping[str, str]) -> None:
        """Pass the event to the callback."""
        self._then.on_start(folder, facts)

    def on_phase(self, name: str, total: int) -> None:
        """Report new problems of trackers, and pass the event to the callback."""
        self._tell_problems()
        self._then.on_phase(name, total)

    def on_advance(self, count: int) -> None:
        """Pass the event to the callback."""
        self._then.on_advance(count)

    def on_progress(self, pulse: RolloutProgress) -> None:
        """Pass the event to the callback."""
        self._then.on_progress(pulse)

    def on_note(self, text: str) -> None:
        """Pass the event to the callback."""
        self._then.on_note(text)

    def on_sft_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        """Pass the event to trackers and callback."""
        kept = dict(metrics)
        self._tell(lambda tracker: tracker.on_sft_epoch(epoch, kept))
        self._then.on_sft_epoch(epoch, metrics)

    def on_update(self, update: int, metrics: Mapping[str, float]) -> None:
        """Pass the event to trackers and callback."""
        kept = dict(metrics)
        self._tell(lambda tracker: tracker.on_update(update, kept))
        self._then.on_update(update, metrics)

    def on_evaluation(self, update: int, report: Report) -> None:
        """Pass the event to trackers and callback."""
        self._tell(lambda tracker: tracker.on_evaluation(update, report))
        self._then.on_evaluation(update, report)

    def _tell(self, message: _Message) -> None:
        for apart in self._apart:
            apart.send(message)
        self._tell_problems()

    def _tell_problems(self) -> None:
        for apart in self._apart:
            if (problem := apart.first_problem()) is not None:
                self._then.on_note(f"tracker {apart.name}: {problem}. The run continues")


class _TrackerThread:
    """A tracker and its thread.

    Each counter is written by one thread only, so that it needs no lock.
    """

    def __init__(self, name: str, tracker: Tracker) -> None:
        self.name, self.num_sent = name, 0
        self._tracker = tracker
        self._messages: SimpleQueue[_Message | None] = SimpleQueue()
        self._dropped, self._failed = 0, 0
        self._problem: str | None = None  # the first problem
        self._is_reported = False
        self._has_failed = False  # whether the run failed
        self._thread = threading.Thread(target=self._work, name=f"tracker {name}", daemon=True)

    @property
    def lost(self) -> int:
        """The number of lost messages."""
        return self._dropped + self._failed

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def send(self, message: _Message) -> None:
        """Queue a message for the tracker."""
        self.num_sent += 1
        if self._messages.qsize() < MOST_WAITING:
            self._messages.put(message)
        else:
            self._dropped += 1
            self._problem = self._problem or f"it is slower than the run: {MOST_WAITING} messages wait for it"

    def first_problem(self) -> str | None:
        """Return its first problem, once."""
        if self._problem is None or self._is_reported:
            return None
        self._is_reported = True
        return self._problem

    def end(self, *, has_failed: bool) -> None:
        """Queue the end of the run."""
        self._has_failed = has_failed
        self._messages.put(None)

    def wait(self, seconds: float) -> float:
        """Wait for the thread, at most `seconds`, and return the time waited."""
        began = time.monotonic()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._dropped += max(self._messages.qsize() - 1, 0)
            self._problem = self._problem or "it was not done in time at the end of the run"
        return time.monotonic() - began

    def _work(self) -> None:
        is_open = self._try(self._tracker.open)
        while (message := self._messages.get()) is not None:
            if not (is_open and self._try(partial(message, self._tracker))):
                self._failed += 1
        if is_open:
            self._try(lambda: self._tracker.close(has_failed=self._has_failed))

    def _try(self, call: Callable[[], None]) -> bool:
        try:
            call()
        except Exception as error:  # noqa: BLE001  (no exception of a tracker's package may affect the run)
            first_line = str(error).strip().partition("\n")[0]
            self._problem = self._problem or f"{type(error).__name__}: {first_line}"[:300]
            return False
        return True
