"""Answers by a tool call: how tools are offered, and how an answer is kept as one text and read again.

The text is JSON with what was said and every call as it came, so that a stored turn shows all of it. What a model makes
of a tool never raises: an unknown tool, no call and arguments that cannot be read are answers without an action.
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

    def first(self) -> tuple[ToolCall, dict[str, Any]] | None:  # Any: JSON
        """Return the first call and its arguments; None: nothing that can be read. Later calls do not count."""
        if not self.calls:
            return None
        arguments = _json(self.calls[0].arguments)
        return (self.calls[0], arguments) if isinstance(arguments, dict) else None


def read_answer(text: str) -> Answer:
    """Return the answer that was written as `text`; any other text is taken for what was said."""
    try:
        found = json.loads(text)
        return Answer(found["content"], tuple(ToolCall(**call) for call in found["calls"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return Answer(text)


def _json(text: str) -> Any:  # Any: whatever JSON can hold
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
