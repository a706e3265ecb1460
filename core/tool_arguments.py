"""Parsing of tool-call arguments, in every form that models and servers send."""

from __future__ import annotations

import json
from typing import Any

_TIMES_ENCODED = 2  # some servers JSON-encode the model's JSON text again
_SHOWN = 120  # characters of a parser's message in an error


def tool_arguments(given: object) -> dict[str, Any] | str:  # Any: JSON
    """Return the arguments, or a description of the error.

    A missing value, null and an empty text mean no arguments. An object is returned unchanged; a text is JSON of any of
    these, possibly encoded twice. NaN and infinities are not JSON.
    """
    try:
        for _ in range(_TIMES_ENCODED):
            if isinstance(given, str):
                given = json.loads(given) if given.strip() else None
        json.dumps(given, allow_nan=False)
    except (ValueError, RecursionError) as error:
        return f"its arguments are not JSON: {str(error)[:_SHOWN] or 'nested too deep'}"
    if given is None:
        return {}
    return given if isinstance(given, dict) else "its arguments are not a JSON object"
