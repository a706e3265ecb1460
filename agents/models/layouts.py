"""How the texts of an episode and its replies become one sequence of ids: the contract, and the layout of plain text.

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
    """The messages after a reply: a text of the user, or the result of each call that the reply made."""

    texts: tuple[str, ...]  # one; or as many as there are calls, in their order
    calls: tuple[ToolCall, ...] = ()  # none: the text is the user's

    def messages(self) -> list[Message]:
        """Return them for a chat template."""
        if not self.calls:
            return [message("user", text) for text in self.texts]
        results = zip(self.calls, self.texts, strict=True)
        return [{**message("tool", text), "name": call.name, "tool_call_id": call.id} for call, text in results]

    def reply(self, content: str) -> Message:
        """Return a reply after which they may come."""
        return reply_message(content, [replace(call, arguments="{}") for call in self.calls])


class ChatLayout(Protocol):
    """How the texts of an episode and its replies become one sequence."""

    end_id: int  # closes a reply
    opened: str  # what the prompt begins of a reply: the mark of a thought, or nothing
    closing: Ids  # ends such a thought that is empty

    def opening(self, text: str, system: str | None = None, tools: Tools = ()) -> Ids:
        """Return the ids of a first prompt, with the schemas of `tools`."""

    def following(
        self, turn: int, after: Following, *, is_closed: bool, has_system: bool = False, tools: Tools = ()
    ) -> Ids:
        """Return the ids between a reply and the next one.

        Args:
            turn: replies so far, at least 1.
            after: the messages after the reply.
            is_closed: the reply ends in `end_id`; else that id comes first here.
            has_system: the first prompt had a system message.
            tools: those of the first prompt.
        """

    def takes_several_calls(self, tools: Tools) -> bool:
        """Return whether a reply can be shown that makes several calls."""

    def reply(self, calls: Sequence[ToolCall], tools: Tools) -> Ids:
        """Return the ids of a reply that makes these calls, closed by `end_id`."""

    def check(self, *, has_system: bool, tools: Tools = ()) -> None:
        """See to it that a conversation can be extended turn by turn.

        Raises:
            ConfigError: it cannot.
        """


class PlainLayout:
    """No template: texts end to end, each followed by the mark that opens a reply."""

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
        """Return the ids of a first prompt, the system message above it; see `check` for tools."""
        self.check(has_system=system is not None, tools=tools)
        return (*self._encode(text if system is None else f"{system}\n\n{text}"), *self.opener)

    def following(
        self, turn: int, after: Following, *, is_closed: bool, has_system: bool = False, tools: Tools = ()
    ) -> Ids:
        """Return the ids between two replies; see `ChatLayout`."""
        return (*(() if is_closed else (self.end_id,)), *self._encode("\n".join(after.texts)), *self.opener)

    def takes_several_calls(self, tools: Tools) -> bool:
        """Return that there are no calls here."""
        return False

    def reply(self, calls: Sequence[ToolCall], tools: Tools) -> Ids:
        """Refuse calls; see `check`."""
        raise ConfigError(_NO_TOOLS)

    def check(self, *, has_system: bool, tools: Tools = ()) -> None:
        """Refuse tools, which only a chat template shows; texts end to end can always be extended.

        Raises:
            ConfigError: there are tools.
        """
        if tools:
            raise ConfigError(_NO_TOOLS)


def message(role: str, content: str) -> Message:
    """Return a message; lone surrogates cannot reach a tokenizer."""
    return {"role": role, "content": content.encode("utf-8", "replace").decode("utf-8")}


def reply_message(content: str, calls: Sequence[ToolCall]) -> Message:
    """Return a reply that says a text and makes calls."""
    called = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.loads(call.arguments)}}
        for call in calls
    ]
    return {**message("assistant", content), **({"tool_calls": called} if called else {})}
