"""Progress and remaining time of long tasks: a bar in a terminal, some lines elsewhere.

Written to standard error, so that it does not mix with results on standard output.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

LINE_S = 10.0  # seconds between lines outside a terminal


class Advance(Protocol):
    """Reports that a unit is done."""

    def __call__(self, now: str = "") -> None:
        """Advance by one; `now`: the next unit, or the current state."""

    def expect(self, total: int) -> None:
        """Replace the total number of units."""


@contextmanager
def progress(
    what: str,
    total: int | None = None,
    *,
    console: Console | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Advance]:
    """Show the progress of `what`; yields the function to call after each unit.

    `total`: the number of units; None: unknown.
    """
    from rich.console import Console

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(what, total, console, clock)
        return
    with _display(console, total) as bar:
        yield _Bar(bar, bar.add_task(what, total=total, now=""))


def time_left(done: int, total: int | None, seconds: float) -> str:
    """Return the remaining time at the current speed, such as 1:05:09, or "?" if unknown."""
    if not done or total is None:
        return "?"
    minutes, left = divmod(round(seconds / done * max(total - done, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


def _display(console: Console, total: int | None) -> Progress:
    from rich import progress as rich

    known = (rich.BarColumn(30), rich.MofNCompleteColumn(), rich.TimeRemainingColumn()) if total is not None else ()
    return rich.Progress(
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}", markup=False),
        *known,
        rich.TimeElapsedColumn(),
        rich.TextColumn("{task.fields[now]}", markup=False),
        console=console,
        transient=True,
    )


class _Bar:
    """Advances a bar."""

    def __init__(self, bar: Progress, task: TaskID) -> None:
        self._bar, self._task = bar, task

    def __call__(self, now: str = "") -> None:
        self._bar.update(self._task, advance=1, now=now)

    def expect(self, total: int) -> None:
        self._bar.update(self._task, total=total)


class _Lines:
    """Prints a line at most every `LINE_S` seconds."""

    def __init__(self, what: str, total: int | None, console: Console, clock: Callable[[], float]) -> None:
        self._what, self._total, self._console, self._clock = what, total, console, clock
        self._done, self._began = 0, clock()
        self._printed = self._began

    def __call__(self, now: str = "") -> None:
        self._done += 1
        at = self._clock()
        if at - self._printed < LINE_S:
            return
        self._printed = at
        of = "" if self._total is None else f" of {self._total:,}"
        left = "" if self._total is None else f", {time_left(self._done, self._total, at - self._began)} left"
        ending = f": {now}" if now else ""
        self._console.print(
            f"{self._what}: {self._done:,}{of}{left}{ending}", markup=False, highlight=False, soft_wrap=True
        )

    def expect(self, total: int) -> None:
        self._total = total
