"""How many tokens the sequences in flight will hold at their peak, told from how long finished ones became.

Each sequence in flight with c tokens is taken to end at a length drawn from the finished ones that were longer, so that
r = length - c are to come. When the sequence with the i-th most to come ends, i sequences have grown by its r:

    peak = max over i of  r_i i + sum over j <= i of c_j,     r sorted from most to least

Source: Past-Future (2507.10150). A worst-case limit would leave memory idle; the present sum would promise it twice.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


class CacheAdmission:
    """Says whether one more sequence fits into `capacity` tokens."""

    def __init__(self, capacity: int, longest: int, *, window: int = 200, reserve: float = 0.05, seed: int = 0) -> None:
        """Know nothing yet: every sequence is taken to become as long as it can.

        Args:
            capacity: tokens that there is room for.
            longest: tokens that a sequence may have.
            window: finished sequences that count.
            reserve: share of the capacity that is never promised.
            seed: of the draws.
        """
        self.capacity, self.longest, self.reserve = capacity, longest, reserve
        self._lengths: deque[int] = deque(maxlen=window)
        self._rng = random.Random(seed)

    def record(self, length: int) -> None:
        """Take note of how long a finished sequence was."""
        self._lengths.append(length)

    def admits(self, current: Sequence[int]) -> bool:
        """Return whether a new sequence fits beside those of these lengths: by the worst of a few draws."""
        draws = min(5, 200 // (len(current) + 1) + 1)
        worst = max(peak([*current, 0], self._remaining([*current, 0])) for _ in range(draws))
        return worst <= self.capacity * (1 - self.reserve)

    def state_dict(self) -> dict[str, Any]:  # Any: JSON
        """Return what is known, and the place in the draws."""
        return {"lengths": list(self._lengths), "random": self._rng.getstate()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # Any: as above
        """Go on from a state."""
        self._lengths.extend(state["lengths"])
        version, numbers, gauss = state["random"]
        self._rng.setstate((version, tuple(numbers), gauss))

    def _remaining(self, current: Sequence[int]) -> list[int]:
        """Draw how much is to come of each sequence."""
        known = np.sort(np.array([*self._lengths, self.longest]))
        out = []
        for length in current:
            longer = known[np.searchsorted(known, length, side="right") :]
            out.append(int(self._rng.choice(longer)) - length if len(longer) else 0)
        return out


def peak(current: Sequence[int], remaining: Sequence[int]) -> int:
    """Return the most tokens held at once if each sequence grows by one a step and leaves at its end."""
    order = np.argsort(-np.asarray(remaining), kind="stable")
    most, held = np.asarray(remaining)[order], np.cumsum(np.asarray(current)[order])
    return int((most * np.arange(1, len(order) + 1) + held).max(initial=0))
