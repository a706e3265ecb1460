"""Joins an episode's texts and replies into one id sequence: interface and plain layout.

`agents.models.chat` has the layout by a chat template.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from cairn.agents.tool_calls import ToolCall
from cairn.core.errors import ConfigError
from cairn.core.records import Schema

_NO_TOOLS = "agent.context.chat.tools: only a chat template shows tools; set model.chat_template, or tools = false"

Tools = Sequence[Schema]
Ids = tuple[int, ...]
Encode = Callable[[str], Ids]
Message = dict[str, Any]  # Any: JSON


@dataclass(frozen=True, slots=True)
class Following:
    """The messages after a reply: one user text, or the result of each call in the reply."""

    texts: tuple[str, ...]  # one text, or one per call in the same order
    calls: tuple[ToolCall, ...] = ()  # empty: the text is the user's

    def messages(self) -> list[Message]:
        """Return the messages for a chat template."""
        if not self.calls:
            return [message("user", text) for text in self.texts]
        results = zip(self.calls, self.texts, strict=True)
        return [{**message("tool", text), "name": call.name, "tool_call_id": call.id} for call, text in results]

    def reply(self, content: str) -> Message:
        """Return an assistant message that these messages can follow."""
        return reply_message(content, [replace(call, arguments="{}") for call in self.calls])


class ChatLayout(Protocol):
    """Joins the texts and replies of an episode into one sequence."""

    end_id: int  # end token of a reply
    opened: str  # start of the reply that the prompt contains: the opening mark of a thought, or ""
    closing: Ids  # ids that close such a thought when it is empty

    def opening(self, text: str, system: str | None = None, tools: Tools = ()) -> Ids:
        """Return the ids of a first prompt, with the schemas of `tools`."""

    def following(
        self, turn: int, after: Following, *, is_closed: bool, has_system: bool = False, tools: Tools = ()
    ) -> Ids:
        """Return the ids between a reply and the next one.

        Args:
            turn: number of replies so far, at least 1.
            after: the messages after the reply.
            is_closed: the reply ends in `end_id`; otherwise that id is prepended here.
            has_system: the first prompt had a system message.
            tools: those of the first prompt.
        """

    def takes_several_calls(self, tools: Tools) -> bool:
        """Return whether a reply may contain several calls."""

    def reply(self, calls: Sequence[ToolCall], tools: Tools) -> Ids:
        """Return the ids of a reply with these calls, ending in `end_id`."""

    def check(self, *, has_system: bool, tools: Tools = ()) -> None:
        """Check that a conversation can be extended turn by turn.

        Raises:
            ConfigError: it cannot.
        """


class PlainLayout:
    """Layout without a template: concatenated texts, each followed by the reply marker."""

    opened = ""
    closing: Ids = ()

    def __init__(self, encode: Encode, end_id: int, act_id: int | None) -> None:
        self.end_id = end_id
        self._encode, self._act_id = encode, act_id

    @property
    def opener(self) -> Ids:
        """The ids before every reply."""
        return (self._act_id,) if self._act_id is not None else self._encode("\n> ")

    def opening(self, text: str, system: str | None = None, tools: Tools = ()) -> Ids:
        """Return the ids of a first prompt, starting with the system message; see `check` for tools."""
        self.check(has_system=system is not None, tools=tools)
        return (*self._encode(text if system is None else f"{system}\n\n{text}"), *self.opener)

    def following(
        self, turn: int, after: Following, *, is_closed: bool, has_system: bool = False, tools: Tools = ()
    ) -> Ids:
        """Return the ids between two replies; see `ChatLayout`."""
        return (*(() if is_closed else (self.end_id,)), *self._encode("\n".join(after.texts)), *self.opener)

    def takes_several_calls(self, tools: Tools) -> bool:
        """Return False: there are no calls in plain text."""
        return False

    def reply(self, calls: Sequence[ToolCall], tools: Tools) -> Ids:
        """Raise `ConfigError`: there are no calls in plain text."""
        raise ConfigError(_NO_TOOLS)

    def check(self, *, has_system: bool, tools: Tools = ()) -> None:
        """Reject tools, which need a chat template; plain texts can always be extended.

        Raises:
            ConfigError: there are tools.
        """
        if tools:
            raise ConfigError(_NO_TOOLS)


def message(role: str, content: str) -> Message:
    """Return a message; lone surrogates are replaced, since tokenizers reject them."""
    return {"role": role, "content": content.encode("utf-8", "replace").decode("utf-8")}


def reply_message(content: str, calls: Sequence[ToolCall]) -> Message:
    """Return an assistant message with a text and calls."""
    called = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.loads(call.arguments)}}
        for call in calls
    ]
    return {**message("assistant", content), **({"tool_calls": called} if called else {})}
