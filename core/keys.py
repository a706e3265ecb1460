"""64-bit keys for states, actions and texts: computed once, when a step is recorded.

Collisions: among a million distinct states the odds of any are about 3e-8. Keys are not secret and not
collision-resistant against an adversary who can choose the states.
"""

from __future__ import annotations

import xxhash


def bytes_key(data: bytes, scope: int = 0) -> int:
    """Return the 64-bit key of `data` within `scope` (0 <= key < 2**64). Different scopes give unrelated keys."""
    return xxhash.xxh3_64_intdigest(data, scope)


def text_key(text: str, scope: int = 0) -> int:
    """Return the 64-bit key of `text` within `scope`; lone surrogates are allowed."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"), scope)
