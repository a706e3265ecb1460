"""Helpers of the environments' benchmarks: data files, memory and open files."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def data_file(folder: str, name: str) -> Path | None:
    """Return a file of the benchmark data under CAIRN_DATA; None if it does not exist."""
    root = Path(os.environ.get("CAIRN_DATA", "nowhere"))
    return next((path for path in (root / folder / name, root / name) if path.is_file()), None)


def json_lines(path: Path) -> Iterator[dict[str, Any]]:  # Any: lines of JSON
    """Yield the lines of a gzipped file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def memory_mb() -> float:
    """Return the resident memory of this process (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def shared_memory_mb() -> float:
    """Return this process's proportional memory: shared pages are divided (Linux's Pss)."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def open_files() -> int:
    """Return the number of open files of this process (Linux)."""
    return len(os.listdir("/proc/self/fd"))
