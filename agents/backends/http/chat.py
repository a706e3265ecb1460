"""Replies as chat completions: sends messages and tools, gets text or tool calls."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cairn.agents.backend import Message, Reply, Request, text_reply
from cairn.agents.backends.http.fields import clean, first_choice, text_of, wrong
from cairn.agents.config import SamplingConfig
from cairn.agents.tool_calls import Answer, ToolCall
from cairn.core.errors import ConfigError

_CHARS_A_TOKEN = 3  # a low estimate, for limits of tokens per minute
_TOKENS_A_PICTURE = 1000  # estimate: 1024 x 768 pixels at 750 pixels per token; models differ widely


class ChatCompletions:
    """Builds requests to ``/chat/completions`` and parses responses."""

    path = "/chat/completions"

    def __init__(self, sampling: SamplingConfig) -> None:
        self._sampling = sampling

    def begin(self, slot: int, request: Request) -> tuple[dict[str, Any], int]:
        """Return a request body and its maximum token count."""
        if not request.messages:
            raise ConfigError("agent.context.method: this back end reads text; choose 'messages'")
        body: dict[str, Any] = {
            "messages": [_message(message) for message in request.messages],
            "temperature": self._sampling.temperature,
            "max_tokens": self._sampling.max_reply_tokens,
            "seed": request.rng.getrandbits(31),
        }
        if request.tools:
            body["tools"] = _clean(request.tools)
        return body, _foreseen(request.messages) + self._sampling.max_reply_tokens

    def read(self, slot: int, request: Request, body: Any, version: int) -> Reply:  # Any: JSON
        """Parse a response into a reply.

        Raises:
            ModelFailure: the response is malformed.
        """
        choice = first_choice(body)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise wrong("choices[0].message: an object", message)
        text = text_of(message.get("content"), "content") or text_of(message.get("refusal"), "refusal")
        if request.tools:
            turn = 0 if request.turn_context is None else request.turn_context.turn
            text = Answer(text, _calls(message.get("tool_calls"), turn)).written()
        return text_reply(text, "length" if choice.get("finish_reason") == "length" else "end", version)

    def full(self, slot: int, request: Request, version: int) -> Reply:
        """Return the reply to a conversation that exceeds the model's context."""
        return text_reply("", "context", version)

    def fork(self, source: int, target: int) -> None:
        """Do nothing: a conversation is sent whole each time."""


def _foreseen(messages: Sequence[Message]) -> int:
    """Return the estimated token count of a prompt; the server's count replaces it later."""
    chars = sum(len(message.content) for message in messages)
    pictures = sum(message.image is not None for message in messages)
    return chars // _CHARS_A_TOKEN + pictures * _TOKENS_A_PICTURE


def _message(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": _content(message)}
    if not message.calls:
        return out
    if message.role == "tool":
        return out | {"tool_call_id": message.calls[0].id}
    return out | {"tool_calls": [_call_again(call) for call in message.calls]}


def _content(message: Message) -> str | list[dict[str, Any]]:
    """Return a message's text; with an image, a list of both parts."""
    text = clean(message.content)
    if message.image is None:
        return text
    url = f"data:image/png;base64,{base64.b64encode(message.image).decode()}"
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]


def _call_again(call: ToolCall) -> dict[str, Any]:
    function = {"name": clean(call.name), "arguments": clean(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _clean(value: Any) -> Any:  # Any: JSON
    """Return JSON without lone surrogates."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(key): _clean(each) for key, each in value.items()}
    return [_clean(each) for each in value] if isinstance(value, list | tuple) else value


def _calls(value: Any, turn: int) -> tuple[ToolCall, ...]:  # Any: JSON
    """Return the calls; a missing or non-text id or name becomes empty (a model error)."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise wrong("tool_calls: a list", value)
    calls = [_call(each, f"call_{turn}_{number}") for number, each in enumerate(value)]
    ids = [call.id for call in calls]  # ids identify results, so duplicates are replaced
    return tuple(
        call if ids.index(call.id) == number else replace(call, id=f"call_{turn}_{number}")
        for number, call in enumerate(calls)
    )


def _call(value: Any, default_id: str) -> ToolCall:  # Any: JSON
    call = value if isinstance(value, dict) else {}
    function = call.get("function")
    named = function if isinstance(function, dict) else {}
    call_id, name = (clean(text) if isinstance(text, str) else "" for text in (call.get("id"), named.get("name")))
    arguments = named.get("arguments")
    return ToolCall(
        call_id or default_id, name, clean(arguments if isinstance(arguments, str) else json.dumps(arguments))
    )
