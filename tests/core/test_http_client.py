"""Waiting as long as servers ask, or longer from attempt to attempt; addresses and keys."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest

from cairn.core.http_client import asked_wait, backoff, used_up_for


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
