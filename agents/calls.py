"""Answers by tool calls: how an answer is kept as one text and read again.

The text is JSON with what was said and every call as it came, so that a stored turn shows all of it. What a model makes
of a tool never raises; what its calls come to is for `agents.offer` to say.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as it came."""

    id: str
    name: str
    arguments: str  # JSON, if the model kept to it


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said and called."""

    content: str
    calls: tuple[ToolCall, ...] = ()

    def written(self) -> str:
        """Return the answer as one text."""
        return json.dumps({"content": self.content, "calls": [asdict(call) for call in self.calls]}, ensure_ascii=False)


def read_answer(text: str) -> Answer:
    """Return the answer that was written as `text`; any other text is taken for what was said."""
    try:
        found = json.loads(text)
        content, calls = found["content"], tuple(ToolCall(**call) for call in found["calls"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return Answer(text)
    parts = [content, *(part for call in calls for part in (call.id, call.name, call.arguments))]
    return Answer(content, calls) if all(isinstance(part, str) for part in parts) else Answer(text)


def read_arguments(text: str) -> dict[str, Any] | str:  # Any: JSON
    """Return the arguments of a call, or what is wrong with them; NaN and infinities are no JSON."""
    try:
        found = json.loads(text)
        json.dumps(found, allow_nan=False)
    except (ValueError, RecursionError) as error:
        return f"its arguments are no JSON: {str(error)[:120] or 'nested too deep'}"
    return found if isinstance(found, dict) else "its arguments are no JSON object"
