"""Helpers of HTTP clients: URL checks, API keys, retryable status codes and retry delays."""

from __future__ import annotations

import math
import os
import random
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from cairn.core.errors import ConfigError

_PASSING = (408, 409, 429)
_LONGEST_S = 30.0  # limit of delays that the server did not request
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h|d))+")
_PART = re.compile(r"([\d.]+)(ms|s|m|h|d)")


def sound_url(url: str) -> str:
    """Return the URL without a trailing slash.

    Raises:
        ValueError: it is not an HTTP URL, or has a user name or password.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("expected an address such as http://localhost:8000/v1")
    if parts.username or parts.password:
        raise ValueError("an address may hold no user name or password: put the key into the variable `key_env` names")
    return url.rstrip("/")


def read_key(variable: str) -> str | None:
    """Return the API key in an environment variable, or None if it is unset.

    Raises:
        ConfigError: the value cannot be an API key; the message does not show it.
    """
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(f"{variable}: expected an API key: printable ASCII characters without blanks")
    return key or None


def is_passing(status: int) -> bool:
    """Return whether a retry may succeed."""
    return status in _PASSING or status >= 500


def backoff(attempt: int, scale_s: float, rng: random.Random) -> float:
    """Return the seconds to wait after attempt 1, 2, ...: exponential, with full jitter.

    ``uniform(0, min(30, scale * 2^(attempt - 1)))``, after Brooker 2015, "Exponential Backoff And Jitter".
    """
    return rng.uniform(0.0, min(_LONGEST_S, scale_s * 2.0 ** min(attempt - 1, 20)))


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a refusing server asks the client to wait, or None.

    Headers: ``retry-after-ms``, ``Retry-After`` in seconds or as a date, and ``x-ratelimit-*`` of exhausted limits.
    """
    if (wait := _number(headers.get("retry-after-ms"))) is not None:
        return wait / 1000
    if (value := headers.get("retry-after")) is not None:
        wait = _number(value)
        return wait if wait is not None else _until(value)
    return used_up_for(headers)


def used_up_for(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until all exhausted rate limits reset, or None if none is exhausted."""
    waits = []
    for kind in ("requests", "tokens"):
        if _number(headers.get(f"x-ratelimit-remaining-{kind}")) == 0:
            waits.append(_duration(headers.get(f"x-ratelimit-reset-{kind}")))
    found = [wait for wait in waits if wait is not None]
    return max(found) if found else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return max(value, 0.0) if value is not None and math.isfinite(value) else None


def _until(date: str) -> float | None:
    try:
        then = parsedate_to_datetime(date)
        return max(0.0, (then.replace(tzinfo=then.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _duration(text: str | None) -> float | None:
    """Return the seconds of a duration such as ``6m0s``, ``20ms`` or ``1.5``."""
    if text is None or not _DURATION.fullmatch(text):
        return _number(text)
    return sum(float(number) * _UNITS_S[unit] for number, unit in _PART.findall(text))
