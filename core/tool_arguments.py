"""The arguments of a tool call, in every form in which models and servers give them."""

from __future__ import annotations

import json
from typing import Any

_TIMES_ENCODED = 2  # some servers encode the JSON text of a model once more
_SHOWN = 120  # characters of a parser's message


def tool_arguments(given: object) -> dict[str, Any] | str:  # Any: JSON
    """Return the arguments, or what is wrong with them.

    Nothing at all, null and an empty text mean no arguments. An object is taken as it is; a text is JSON of any of
    these, perhaps encoded twice. NaN and infinities are not JSON.
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
