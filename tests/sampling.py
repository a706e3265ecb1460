"""Rotating samples of long lists: another part every day, so that successive days take all of it.

`sampled_params` and the marker `rotating` are for tests of the default run: `make test-all`, and pytest with the name
of a file, take the whole list. `sample` is for slow tests that would take hours: `make test-all` takes a part too. The
part follows from `CAIRN_SAMPLE_SEED`, by default the number of the day. The run prints it; set it to repeat one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from zlib import crc32

import pytest

SEED = int(os.environ.setdefault("CAIRN_SAMPLE_SEED", str(datetime.now(UTC).toordinal())))  # workers inherit it

T = TypeVar("T")


def is_of_today(test: str, parts: int, seed: int = SEED) -> bool:
    """Return whether a rotating test belongs to this day's part of them; each does every `parts` days."""
    return crc32(test.encode()) % parts == seed % parts


def sample(items: Iterable[T], parts: int = 8, seed: int = SEED) -> Sequence[T]:
    """Return every `parts`-th item, at least one if there is any; successive seeds take all items in turn."""
    every = list(items)
    return every[seed % min(parts, max(len(every), 1)) :: parts]


def sampled_params(items: Iterable[Any], parts: int = 8, seed: int = SEED) -> list[Any]:  # Any: parameters of a test
    """Return all items as parameters of a test, those outside of the `sample` `slow`; a tuple is several parameters."""
    every = list(items)
    chosen = set(sample(range(len(every)), parts, seed))
    return [
        pytest.param(*(item if isinstance(item, tuple) else (item,)), marks=() if place in chosen else pytest.mark.slow)
        for place, item in enumerate(every)
    ]
