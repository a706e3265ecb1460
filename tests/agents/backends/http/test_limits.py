"""Waiting for room within limits on requests and tokens."""

from __future__ import annotations

import asyncio
import time

import pytest

from cairn.agents.backends.http.limits import Limiter, RateShare

WINDOW_S = 0.3


def begun(limiter: Limiter, tokens: list[int], used: list[int] | None = None) -> list[float]:
    """Return when each of these requests began, in windows from the first."""
    times: list[float] = []

    async def one(number: int) -> None:
        taken = RateShare(tokens[number])
        async with limiter.place(taken):
            times.append(time.monotonic())
            if used is not None:
                taken.tokens = used[number]

    async def all_of_them() -> None:
        await asyncio.gather(*(one(i) for i in range(len(tokens))))

    asyncio.run(all_of_them())
    return [(at - times[0]) / WINDOW_S for at in times]


def windows(times: list[float]) -> list[int]:
    return [int(at + 0.02) for at in times]


def test_requests_per_window_are_limited() -> None:
    assert windows(begun(Limiter(8, 2, None, WINDOW_S), [0] * 5)) == [0, 0, 1, 1, 2]


def test_the_window_slides() -> None:
    async def spaced() -> list[float]:
        limiter, times = Limiter(8, 2, None, WINDOW_S), []
        for pause in (0.0, 0.6, 0.0, 0.0):
            await asyncio.sleep(pause * WINDOW_S)
            async with limiter.place(RateShare(0)):
                times.append(time.monotonic())
        return [(at - times[0]) / WINDOW_S for at in times]

    # the third waits until the first is a window ago, the fourth until the second is
    assert asyncio.run(spaced()) == pytest.approx([0.0, 0.6, 1.0, 1.6], abs=0.2)


def test_tokens_per_window_are_limited() -> None:
    assert windows(begun(Limiter(8, None, 100, WINDOW_S), [60, 40, 1, 99, 50])) == [0, 0, 1, 1, 2]


def test_unused_tokens_are_returned_to_the_window() -> None:
    assert windows(begun(Limiter(8, None, 100, WINDOW_S), [60, 60, 60], [10, 10, 10])) == [0, 0, 0]


def test_a_request_larger_than_the_window_is_sent_alone() -> None:
    assert windows(begun(Limiter(8, None, 100, WINDOW_S), [500, 10])) == [0, 1]


def test_without_limits_nothing_waits() -> None:
    assert begun(Limiter(8, None, None, WINDOW_S), [10**9] * 50)[-1] < 0.5
