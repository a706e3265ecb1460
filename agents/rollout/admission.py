"""Predicts the peak number of cached tokens and admits a new sequence only if it fits.

The prediction draws a final length for each active sequence from the finished sequences that were longer. A sequence of
c tokens then has r = length - c tokens left. When the sequence with the i-th largest r ends, i sequences have grown by
that r:

    peak = max over i of  r_i i + sum over j <= i of c_j,     r sorted in descending order

Source: Past-Future (2507.10150). Admission by the maximum lengths would leave memory unused; admission by the current
lengths would overcommit it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


class CacheAdmission:
    """Decides whether one more sequence fits into a cache of `capacity` tokens."""

    def __init__(self, capacity: int, longest: int, *, window: int = 200, reserve: float = 0.05, seed: int = 0) -> None:
        """Start without data: every sequence is assumed to reach the maximum length.

        Args:
            capacity: cache size in tokens.
            longest: maximum tokens of a sequence.
            window: number of recent finished sequences to draw lengths from.
            reserve: fraction of the capacity that is never used.
            seed: seed of the draws.
        """
        self.capacity, self.longest, self.reserve = capacity, longest, reserve
        self._lengths: deque[int] = deque(maxlen=window)
        self._rng = random.Random(seed)

    def record(self, length: int) -> None:
        """Record the length of a finished sequence."""
        self._lengths.append(length)

    def admits(self, current: Sequence[int]) -> bool:
        """Return whether a new sequence fits beside those of these lengths.

        The decision uses the largest of up to five drawn peaks.
        """
        draws = min(5, 200 // (len(current) + 1) + 1)
        worst = max(peak([*current, 0], self._remaining([*current, 0])) for _ in range(draws))
        return worst <= self.capacity * (1 - self.reserve)

    def state_dict(self) -> dict[str, Any]:  # Any: JSON
        """Return the recorded lengths and the state of the random generator."""
        return {"lengths": list(self._lengths), "random": self._rng.getstate()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # Any: as above
        """Restore a state from `state_dict`."""
        self._lengths.extend(state["lengths"])
        version, numbers, gauss = state["random"]
        self._rng.setstate((version, tuple(numbers), gauss))

    def _remaining(self, current: Sequence[int]) -> list[int]:
        """Draw the number of remaining tokens of each sequence."""
        known = np.sort(np.array([*self._lengths, self.longest]))
        out = []
        for length in current:
            longer = known[np.searchsorted(known, length, side="right") :]
            out.append(int(self._rng.choice(longer)) - length if len(longer) else 0)
        return out


def peak(current: Sequence[int], remaining: Sequence[int]) -> int:
    """Return the peak token count of sequences that grow by one token a step.

    A sequence's tokens are freed at its end.
    """
    order = np.argsort(-np.asarray(remaining), kind="stable")
    most, held = np.asarray(remaining)[order], np.cumsum(np.asarray(current)[order])
    return int((most * np.arange(1, len(order) + 1) + held).max(initial=0))
