"""64-bit keys for states, actions and texts: computed once, when a step is recorded.

Collisions: among a million distinct states the probability of any is about 3e-8. Keys are not secret and not
collision-resistant against an adversary who can choose the states.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash


def bytes_key(data: bytes, scope: int = 0) -> int:
    """Return the 64-bit key of `data` within `scope` (0 <= key < 2**64).

    Different scopes give unrelated keys.
    """
    return xxhash.xxh3_64_intdigest(data, scope)


def text_key(text: str, scope: int = 0) -> int:
    """Return the 64-bit key of `text` within `scope`; lone surrogates are allowed."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"), scope)


def signed(key: int) -> int:
    """Return a 64-bit key as a signed integer, which NumPy's int64, SQLite and Parquet hold."""
    return key - (1 << 64) if key >= 1 << 63 else key


def unsigned(key: int) -> int:
    """Return the 64-bit key (0 <= key < 2**64) of its signed form."""
    return key % (1 << 64)


def mix_keys(*keys: npt.NDArray[np.uint64] | np.uint64) -> npt.NDArray[np.uint64]:
    """Return one key for each tuple of keys, elementwise; the order of the arguments matters.

    Each key is added to the state of a SplitMix64 generator, which then advances by one step.
    """
    state = np.zeros(np.broadcast_shapes(*(np.shape(key) for key in keys)), np.uint64)
    with np.errstate(over="ignore"):  # the arithmetic is modulo 2**64
        for key in keys:
            state = (state ^ key) + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state ^= state >> np.uint64(31)
    return state


def canonical_bytes(value: Any) -> bytes:  # Any: checked here
    """Return canonical bytes of numbers, texts, bytes, arrays, and containers of these.

    Equal values have equal bytes.

    Raises:
        TypeError: the value has another type.
    """
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, np.generic):
        return canonical_bytes(value.item())
    if isinstance(value, bytes):
        return b"b%d:" % len(value) + value
    if value is None or isinstance(value, (bool, int, float, str)):
        content = repr(value).encode("utf-8", "surrogatepass")
        return b"v%d:" % len(content) + content
    if isinstance(value, Mapping):
        parts = sorted(canonical_bytes(key) + canonical_bytes(item) for key, item in value.items())
    elif isinstance(value, (set, frozenset)):
        parts = sorted(map(canonical_bytes, value))
    elif isinstance(value, (list, tuple)):
        parts = [canonical_bytes(item) for item in value]
    else:
        raise TypeError(f"expected numbers, texts, arrays or containers of these, got {type(value).__name__}")
    kind = type(value).__name__.encode("utf-8", "replace")
    return b"%b%d(" % (kind, len(parts)) + b"".join(b"%d:" % len(part) + part for part in parts) + b")"
