"""Processes of their own for what is measured, and how much memory they took (Linux)."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Literal, TypeVar

T = TypeVar("T")


def say(text: str) -> None:
    """Tell whoever waits for a long benchmark what it is doing."""
    print(text, file=sys.stderr, flush=True)


def watched(what: str, items: Iterable[T]) -> Iterator[T]:
    """Yield the items, and tell whoever waits how many are done and how long the rest takes."""
    from cairn.cli._shared.progress import progress

    each = list(items)
    with progress(what, len(each)) as advance:
        for item in each:
            yield item
            advance()


def peak_memory_mb() -> float:
    """Return the largest resident memory that this process has had, not counting what forked it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def in_fresh_process(function: Callable[..., T], *arguments: Any) -> T:  # Any: those of the function
    """Return what a function at the top of a module returns in a process of its own that has loaded nothing yet."""
    return _apart("spawn", function, *arguments)


def in_forked_process(function: Callable[..., T], *arguments: Any) -> T:  # Any: as above
    """The same in a copy of this process: for work that takes less time than importing torch does."""
    return _apart("fork", function, *arguments)


def _apart(how: Literal["spawn", "fork"], function: Callable[..., T], *arguments: Any) -> T:  # Any: as above
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(how)) as pool:
        return pool.submit(function, *arguments).result()
