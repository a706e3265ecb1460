"""Waiting for room, and for as long as servers say."""

from __future__ import annotations

import asyncio
import random
import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest

from cairn.agents.backends.http.limits import Limiter, RateShare
from cairn.agents.backends.http.retries import asked_wait, backoff, used_up_for

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


def test_requests_a_window() -> None:
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


def test_tokens_a_window() -> None:
    assert windows(begun(Limiter(8, None, 100, WINDOW_S), [60, 40, 1, 99, 50])) == [0, 0, 1, 1, 2]


def test_tokens_that_were_not_used_make_room() -> None:
    assert windows(begun(Limiter(8, None, 100, WINDOW_S), [60, 60, 60], [10, 10, 10])) == [0, 0, 0]


def test_a_request_beyond_the_window_goes_alone() -> None:
    assert windows(begun(Limiter(8, None, 100, WINDOW_S), [500, 10])) == [0, 1]


def test_without_limits_nothing_waits() -> None:
    assert begun(Limiter(8, None, None, WINDOW_S), [10**9] * 50)[-1] < 0.5


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 99999 07:28:00 GMT"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m1.5s"}, 361.5),
        ({"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "6m"}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}, 0.02),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1h2"}, None),
        ({"x-ratelimit-remaining-tokens": "0"}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], expected: float | None) -> None:
    assert asked_wait(headers) == expected
    if "retry-after" not in headers and "retry-after-ms" not in headers:
        assert used_up_for(headers) == expected


def test_a_date_is_read_in_its_own_zone() -> None:
    there = datetime.now(timezone(timedelta(hours=2))) + timedelta(seconds=90)
    assert asked_wait({"retry-after": format_datetime(there)}) == pytest.approx(90, abs=2)


def test_waits_grow_twofold_to_half_a_minute_and_are_spread_from_zero() -> None:
    rng = random.Random(0)
    for attempt, most in ((1, 0.5), (2, 1.0), (5, 8.0), (7, 30.0), (10_000, 30.0)):
        waits = [backoff(attempt, 0.5, rng) for _ in range(400)]
        assert 0 <= min(waits) < 0.03 * most
        assert 0.97 * most < max(waits) <= most
