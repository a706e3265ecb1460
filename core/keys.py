"""64-bit keys for states, actions and texts: computed once, when a step is recorded.

Collisions: among a million distinct states the odds of any are about 3e-8. Keys are not secret and not
collision-resistant against an adversary who can choose the states.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import xxhash


def bytes_key(data: bytes, scope: int = 0) -> int:
    """Return the 64-bit key of `data` within `scope` (0 <= key < 2**64). Different scopes give unrelated keys."""
    return xxhash.xxh3_64_intdigest(data, scope)


def text_key(text: str, scope: int = 0) -> int:
    """Return the 64-bit key of `text` within `scope`; lone surrogates are allowed."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"), scope)


def signed(key: int) -> int:
    """Return a 64-bit key as a signed integer, which NumPy's int64, SQLite and Parquet hold."""
    return key - (1 << 64) if key >= 1 << 63 else key


def unsigned(key: int) -> int:
    """Return the 64-bit key (0 <= key < 2**64) that a signed integer stands for."""
    return key % (1 << 64)


def mix_keys(*keys: npt.NDArray[np.uint64] | np.uint64) -> npt.NDArray[np.uint64]:
    """Return one key for each tuple of keys, elementwise; the order of the arguments matters.

    Each key is added to the state of a SplitMix64 generator, which then takes a step.
    """
    state = np.zeros(np.broadcast_shapes(*(np.shape(key) for key in keys)), np.uint64)
    with np.errstate(over="ignore"):  # the arithmetic is modulo 2**64
        for key in keys:
            state = (state ^ key) + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state ^= state >> np.uint64(31)
    return state
