"""Answers by tool calls: how an answer is kept as one text and read again, and calls that a model wrote as text.

The text is JSON with what was said and every call as it came, so that a stored turn shows all of it. What a model makes
of a tool never raises; what its calls come to is for `agents.offer` to say.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)


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


def read_reply(text: str) -> Answer | str:
    """Return the calls in a reply of a model with a chat template, or the fault of the first malformed call.

    A call is JSON with a name and arguments: the whole reply, or the text in ``<tool_call> </tool_call>`` as the
    templates of Hermes and Qwen ask for; the last end may be missing. A thought in ``<think> </think>`` may precede it.
    """
    answer = _THOUGHT.sub("", text, count=1) if _THOUGHT.match(text) else text
    bodies = _CALL.findall(answer) or ([answer] if answer.strip().startswith("{") else [])
    calls = [_read_call(body, number) for number, body in enumerate(bodies)]
    if wrong := [call for call in calls if isinstance(call, str)]:
        return wrong[0]
    return Answer(answer, tuple(call for call in calls if isinstance(call, ToolCall)))


def write_reply(action: str) -> str:
    """Return a reply with the call that an action is."""
    return f"<tool_call>\n{action}\n</tool_call>"


def _read_call(body: str, number: int) -> ToolCall | str:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        return f"its call is not valid JSON: {str(error)[:120] or 'nested too deep'}"
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        return "its call is not a JSON object with a name and arguments"
    arguments = found.get("arguments", found.get("parameters", {}))  # Llama's templates ask for parameters
    return ToolCall(f"call_{number}", found["name"], arguments if isinstance(arguments, str) else json.dumps(arguments))
