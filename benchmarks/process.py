"""Separate processes for measurements, their memory use (Linux) and progress messages."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Literal, TypeVar

T = TypeVar("T")


def print_progress(text: str) -> None:
    """Print a progress message of a long benchmark."""
    print(text, file=sys.stderr, flush=True)


def watched(what: str, items: Iterable[T]) -> Iterator[T]:
    """Yield the items, and show the progress and the remaining time."""
    from cairn.cli._shared.progress import progress

    each = list(items)
    with progress(what, len(each)) as advance:
        for item in each:
            yield item
            advance()


def peak_memory_mb() -> float:
    """Return this process's peak resident memory, without that of its parent before a fork."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def in_fresh_process(function: Callable[..., T], *arguments: Any) -> T:  # Any: the function's arguments
    """Return the result of a module-level function in a fresh process without imported modules."""
    return _apart("spawn", function, *arguments)


def in_forked_process(function: Callable[..., T], *arguments: Any) -> T:  # Any: as above
    """Return the result of a function in a fork of this process, which skips imports."""
    return _apart("fork", function, *arguments)


def _apart(how: Literal["spawn", "fork"], function: Callable[..., T], *arguments: Any) -> T:  # Any: as above
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(how)) as pool:
        return pool.submit(function, *arguments).result()
