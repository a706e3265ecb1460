"""Rotating samples: the default run takes another part of a long list every day; `make test-all` takes all of it.

The part follows from `CAIRN_SAMPLE_SEED`, by default the number of the day. The run prints it; set it to repeat one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

SEED = int(os.environ.setdefault("CAIRN_SAMPLE_SEED", str(datetime.now(UTC).toordinal())))  # workers inherit it


def sampled_params(items: Iterable[Any], parts: int = 8, seed: int = SEED) -> list[Any]:  # Any: parameters of a test
    """Return all items as parameters of a test, of which all but every `parts`-th are marked `slow`.

    A tuple is several parameters. At least one item is in the sample, and successive seeds take all items in turn.
    """
    every = list(items)
    first = seed % min(parts, max(len(every), 1))
    return [
        pytest.param(
            *(item if isinstance(item, tuple) else (item,)), marks=() if index % parts == first else pytest.mark.slow
        )
        for index, item in enumerate(every)
    ]
