"""Enforces request limits by waiting: requests in flight, requests and tokens per window.

Requests start in order of arrival. A request that is larger than the sliding window starts when the window is empty.
All calls must come from one asyncio loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class RateShare:
    """A request's share of the window."""

    tokens: int  # estimated; set it to the actual count after the reply


class Limiter:
    """The limits of one server."""

    def __init__(
        self,
        at_once: int,
        requests: int | None,
        tokens: int | None,
        window_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._turn = asyncio.Lock()
        self._requests, self._tokens, self._window_s, self._clock = requests, tokens, window_s, clock
        self._recent: deque[tuple[float, RateShare]] = deque()  # by start time
        self._held_until = 0.0

    @asynccontextmanager
    async def place(self, taken: RateShare) -> AsyncIterator[None]:
        """Wait for a concurrency slot and for room in the window, and hold the slot."""
        async with self._places:
            async with self._turn:
                while (wait := self._wait(taken.tokens)) > 0:
                    await asyncio.sleep(wait)
                self._recent.append((self._clock(), taken))
            yield

    def hold(self, seconds: float) -> None:
        """Start no request for this many seconds, as the server asked."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    def _wait(self, tokens: int) -> float:
        """Return the minimum wait in seconds of a request of `tokens` tokens."""
        now = self._clock()
        while self._recent and self._recent[0][0] <= now - self._window_s:
            self._recent.popleft()
        wait = self._held_until - now
        if self._recent and not self._has_room(tokens):
            wait = max(wait, self._recent[0][0] + self._window_s - now)
        return wait

    def _has_room(self, tokens: int) -> bool:
        is_few = self._requests is None or len(self._recent) < self._requests
        return is_few and (
            self._tokens is None or sum(taken.tokens for _, taken in self._recent) + tokens <= self._tokens
        )
