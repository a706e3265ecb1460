"""Answers by a tool call: how the tool is offered, and how an answer is kept as one text and read again.

The text is JSON with what was said and every call as it came, so that a stored turn shows all of it. What a model makes
of a tool never raises: an unknown tool, no call and arguments that cannot be read are answers without an action.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tool:
    """A function of one text that a model may call."""

    name: str
    description: str
    argument: str
    choices: tuple[str, ...] | None  # what the argument is one of; None: any text


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

    def asked(self, tool: str, argument: str) -> str | None:
        """Return what the first call hands to the tool; None: nothing that can be read. Later calls do not count."""
        if not self.calls or self.calls[0].name != tool:
            return None
        found = _arguments(self.calls[0].arguments)
        value = found.get(argument) if isinstance(found, dict) else None
        return value if isinstance(value, str) else None


def read_answer(text: str) -> Answer:
    """Return the answer that was written as `text`; any other text is taken for what was said."""
    try:
        found = json.loads(text)
        return Answer(found["content"], tuple(ToolCall(**call) for call in found["calls"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return Answer(text)


def arguments_of(values: dict[str, str]) -> str:
    """Return a call's arguments as they are written."""
    return json.dumps(values, ensure_ascii=False)


def _arguments(text: str) -> Any:  # Any: whatever JSON can hold
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
