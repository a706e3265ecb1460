"""Processor time of this process's descendants, by program (Linux)."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def descendants_seconds() -> dict[str, float]:
    """Return user and system time by program name, including ended children of each process.

    An ended process whose parent does not wait for it is not counted.
    """
    parents: dict[int, int] = {}
    found: dict[int, tuple[str, float]] = {}
    for pid, name, parent, ticks in _processes():
        parents[pid], found[pid] = parent, (name, ticks / _TICKS)
    total: defaultdict[str, float] = defaultdict(float)
    for pid, (name, seconds) in found.items():
        if _is_below(pid, os.getpid(), parents):
            total[name] += seconds
    return dict(total)


def _processes() -> Iterator[tuple[int, str, int, int]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "stat").read_text()
            except OSError:  # the process has ended
                continue
            name, _, rest = text.partition("(")[2].rpartition(")")
            fields = rest.split()
            yield int(folder.name), name, int(fields[1]), sum(map(int, fields[11:15]))


def _is_below(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == ancestor:
            return True
    return False
