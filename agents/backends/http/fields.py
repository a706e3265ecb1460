"""Validates the fields of a server's response; a malformed response is a `ModelFailure`."""

from __future__ import annotations

import math
from typing import Any

from cairn.core.errors import ModelFailure
from cairn.core.text import printable

_SHOWN = 120  # characters of a malformed value in messages


def wrong(expected: str, came: object) -> ModelFailure:
    """Return the failure of a malformed response."""
    return ModelFailure(f"The server's answer: expected {expected}, got {printable(repr(came)[:_SHOWN])}")


def first_choice(body: Any) -> dict[str, Any]:  # Any: JSON, from and to
    """Return the first choice.

    Raises:
        ModelFailure: the response has no choice.
    """
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise wrong("a list of choices", choices if isinstance(body, dict) else body)
    found: dict[str, Any] = choices[0]
    return found


def text_of(value: Any, what: str) -> str:  # Any: JSON
    """Return a text, or the joined text of a list of text parts; None becomes "".

    Lone surrogates, which cannot be stored, become question marks.
    """
    if isinstance(value, list) and all(isinstance(part, dict) and part.get("type") == "text" for part in value):
        return "".join(text_of(part.get("text"), f"{what}: the text of a part") for part in value)
    if value is not None and not isinstance(value, str):
        raise wrong(f"{what}: a text", value)
    return clean(value or "")


def clean(text: str) -> str:
    """Return the text with lone surrogates replaced by question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def ids_of(value: Any, what: str, below: int) -> list[int]:  # Any: JSON
    """Return a list of ids in [0, below)."""
    if not isinstance(value, list) or not all(type(i) is int and 0 <= i < below for i in value):
        raise wrong(f"{what}: ids below {below}", value)
    return value


def logprobs_of(value: Any, count: int) -> list[float]:  # Any: JSON
    """Return a list of exactly `count` logprobs, clipped to at most 0."""
    if not isinstance(value, list) or not all(type(x) in (int, float) and -math.inf < x <= 1e-4 for x in value):
        raise wrong("token_logprobs: numbers that are not above 0", value)
    if len(value) != count:
        raise wrong(f"token_logprobs: {count} of them, as many as ids", value)
    return [min(float(x), 0.0) for x in value]
