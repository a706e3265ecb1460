"""Parses replies of a model with a chat template: text, thoughts and tool calls.

A format is a file in `configs/templates/calls`: the marks that identify the chat templates of a model family, and a
response template of transformers (`transformers.utils.chat_parsing`). A malformed call does not raise: it is returned
as its text or its invalid JSON. Any reply can be parsed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from transformers.utils.chat_parsing import parse_response
from transformers.utils.chat_parsing.response_templates import load_response_template

from cairn.agents.models.templates import call_format_of
from cairn.agents.tool_calls import Answer, ToolCall
from cairn.core.records import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFormat:
    """The format in which a model family writes tool calls."""

    name: str
    response: Any  # a loaded response template of transformers, which has no types
    is_typed_by_schema: bool = False  # arguments are texts and are converted to the types of the tool's schema

    def read(self, reply: str, tools: Sequence[Schema] = ()) -> Answer | str:
        """Return the text and calls of a reply without its end token, or an error message."""
        typed: Any = [dict(tool) for tool in tools] if self.is_typed_by_schema else None
        try:
            message = parse_response(reply, self.response, prefix="", tools=typed)
            found = [*_flat(message.get("tool_calls", []))]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            return f"it cannot be read: {str(error)[:120] or 'nested too deep'}"
        calls = tuple(_call(each, f"call{number:05}") for number, each in enumerate(found))
        return Answer(str(message.get("content", "")).strip(), calls)


def call_format(tokenizer: Any) -> CallFormat | None:  # Any: a transformers tokenizer
    """Return the call format of a tokenizer's model; None: unknown.

    A format that ships with Cairn takes precedence over the tokenizer's own response template, which may lose a whole
    reply because of one malformed call.
    """
    file = call_format_of(str(tokenizer.chat_template))
    if file is not None:
        return load_format(file)
    own = getattr(tokenizer, "response_template", None)
    return None if own is None else CallFormat(name="own", response=load_response_template(own))


@cache
def load_format(file: Path) -> CallFormat:
    """Load a format from a file."""
    settings = tomllib.loads(file.read_text(encoding="utf-8"))
    return CallFormat(
        name=file.stem,
        response=load_response_template(settings["response"]),
        is_typed_by_schema=settings.get("is_typed_by_schema", False),
    )


def _flat(calls: list[Any]) -> Iterator[Any]:  # Any: JSON
    """Yield each call; some formats have a list of calls in one region."""
    for call in calls:
        found = call.get("function", call) if isinstance(call, dict) else call
        if isinstance(found, list) and found:
            yield from found
        else:
            yield found


def _call(found: Any, call_id: str) -> ToolCall:  # Any: JSON
    if isinstance(found, str):
        return ToolCall(call_id, "", found, fault=f"its call is not valid JSON: {_fault(found)}")
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        fault = "its call is not a JSON object with a name and arguments"
        return ToolCall(call_id, "", "", fault=fault)
    arguments = found.get("arguments", found.get("parameters"))  # Llama models write "parameters"
    return ToolCall(call_id, found["name"], arguments if isinstance(arguments, str) else json.dumps(arguments))


def _fault(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        return str(error)[:120] or "nested too deep"
    return "it is a text"
