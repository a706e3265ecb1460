"""The episode as a conversation in text, for models behind an interface that takes no ids: judged, never trained on.

Observations are what the user says. With ``format = "tool"`` the model is offered one tool, `act`, and a call of it is
the action; what it led to is then the tool's answer. A reply without a call that can be read is text in the
conversation and no valid action, and of several calls the first one counts and is sent back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from cairn.agents.backend import Message
from cairn.agents.calls import Tool, ToolCall, arguments_of, read_answer
from cairn.agents.context.base import Prompt
from cairn.agents.conversation import ASKS, Conversation, ConversationConfig, read_text
from cairn.agents.parse import Parsed, plain
from cairn.core.errors import ConfigError
from cairn.core.records import Observation

TOOL, ARGUMENT = "act", "action"
_MOST_CHOICES = 100  # admissible actions that the tool lists


class MessagesConfig(ConversationConfig):
    """What is said, how it is answered, and how much of it is kept."""

    format: Literal["plain", "tagged", "tool"] = Field(
        "plain",
        description="A reply is an action; a thought and an action in <think> and <action> tags; or a call of the tool "
        "`act`, which lists the admissible actions if they are at most 100.",
    )


class Messages:
    """`agents.context.base.Context` that makes text."""

    makes_messages: ClassVar[bool] = True

    def __init__(self, config: MessagesConfig, encoder: object = None) -> None:
        self._config = config
        self._talk = Conversation[str](config, ASKS[config.format])

    def prompt(self, observation: Observation) -> Prompt:
        """Return the whole conversation."""
        shown = [*(message for message, _ in self._talk.turns), self._talk.message(observation)]
        messages = [] if self._config.system is None else [Message("system", self._config.system)]
        messages.append(Message("user", self._talk.opening(shown[0])))
        for (_, reply), message in zip(self._talk.turns, shown[1:], strict=True):
            messages += self._exchange(reply, message)
        return Prompt((), extends=False, messages=tuple(messages), tool=self._tool(observation))

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int], reply_text: str = "") -> None:
        """Take note of a turn; leave out the oldest ones when it is time."""
        self._talk.add(observation, reply_text)

    def render(self, action: str) -> tuple[int, ...]:
        """Refuse: there are no ids."""
        raise ConfigError("agent.context.method: 'messages' makes text and no ids; imitation needs one that makes ids")

    def parse(self, reply: str) -> Parsed:
        """Read a reply in the format that is asked for."""
        if self._config.format != "tool":
            return read_text(self._config.format, reply)
        return plain(read_answer(reply).asked(TOOL, ARGUMENT) or "")

    def _exchange(self, reply: str, message: str) -> tuple[Message, Message]:
        """Return a reply and what it led to."""
        if self._config.format != "tool":
            return Message("assistant", reply), Message("user", message)
        answer = read_answer(reply)
        action = answer.asked(TOOL, ARGUMENT)
        if action is None:
            return Message("assistant", answer.content), Message("user", message)
        call = ToolCall(answer.calls[0].id, TOOL, arguments_of({ARGUMENT: action}))
        return Message("assistant", answer.content, call), Message("tool", message, call)

    def _tool(self, observation: Observation) -> Tool | None:
        if self._config.format != "tool":
            return None
        actions = observation.admissible or ()
        choices = tuple(dict.fromkeys(actions)) if 0 < len(actions) <= _MOST_CHOICES else None
        return Tool(TOOL, "Carry out one action in the environment.", ARGUMENT, choices)


CONTEXT = (Messages, MessagesConfig)
