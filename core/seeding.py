"""Seeds that are equal in every process and for every PYTHONHASHSEED.

Nothing here touches the process's global random state; callers own the generators they get.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

Part = int | str


@contextmanager
def kept_random_state() -> Iterator[None]:
    """Restore Python's global random state on exit, for libraries that draw from it."""
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)


def derive_seed(*parts: Part) -> int:
    """Return a 63-bit seed that depends on every part and on their order.

    Parts are joined with their type and length, so ``("ab", "c")`` and ``("a", "bc")`` differ.
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        text = f"{type(part).__name__}:{part}"
        digest.update(f"{len(text)}|{text}".encode("utf-8", "surrogatepass"))
    return int.from_bytes(digest.digest(), "big") >> 1


def python_generator(*parts: Part) -> random.Random:
    """Return a private `random.Random` for these parts."""
    return random.Random(derive_seed(*parts))


def numpy_generator(*parts: Part) -> np.random.Generator:
    """Return a private `numpy.random.Generator` for these parts."""
    return np.random.default_rng(derive_seed(*parts))
