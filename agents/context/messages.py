"""The episode as a conversation in text, for models behind an interface that takes no ids: judged, never trained on.

Observations are what the user says. With ``format = "tool"`` the model is offered the environment's tools, and a call
is the action, as JSON; an environment without tools is offered as one, `act`, whose argument is the action. What a call
led to is the tool's answer. A reply without a call that can be read is text in the conversation and no valid action; of
several calls the first counts and is sent back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from cairn.agents.backend import Message
from cairn.agents.calls import Answer, ToolCall, read_answer
from cairn.agents.context.base import Prompt
from cairn.agents.conversation import ASKS, Conversation, ConversationConfig, read_text
from cairn.agents.parse import Parsed, plain
from cairn.core.errors import ConfigError
from cairn.core.records import Observation
from cairn.envs.tools import Schema, function_schema

TOOL, ARGUMENT = "act", "action"
_MOST_CHOICES = 100  # admissible actions that the tool lists


class MessagesConfig(ConversationConfig):
    """What is said, how it is answered, and how much of it is kept."""

    format: Literal["plain", "tagged", "tool"] = Field(
        "plain",
        description="A reply is an action; a thought and an action in <think> and <action> tags; or a call of one of "
        "the environment's tools, or else of `act`, which lists the admissible actions if they are at most 100.",
    )


class Messages:
    """`agents.context.base.Context` that makes text."""

    makes_messages: ClassVar[bool] = True

    def __init__(self, config: MessagesConfig, encoder: object = None) -> None:
        self._config = config
        self._talk = Conversation[str](config, ASKS[config.format])
        self._has_own_tools = False  # the environment names what can be called

    def prompt(self, observation: Observation) -> Prompt:
        """Return the whole conversation."""
        self._has_own_tools = bool(observation.tools)
        shown = [*(message for message, _ in self._talk.turns), self._talk.message(observation)]
        messages = [] if self._config.system is None else [Message("system", self._config.system)]
        messages.append(Message("user", self._talk.opening(shown[0])))
        for (_, reply), message in zip(self._talk.turns, shown[1:], strict=True):
            messages += self._exchange(reply, message)
        return Prompt((), extends=False, messages=tuple(messages), tools=self._tools(observation))

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
        return plain(self._action(read_answer(reply)) or "")

    def _exchange(self, reply: str, message: str) -> tuple[Message, Message]:
        """Return a reply and what it led to."""
        if self._config.format != "tool":
            return Message("assistant", reply), Message("user", message)
        answer = read_answer(reply)
        made = answer.first()
        if made is None or self._action(answer) is None:
            return Message("assistant", answer.content), Message("user", message)
        call = ToolCall(made[0].id, made[0].name, json.dumps(made[1], ensure_ascii=False))
        return Message("assistant", answer.content, call), Message("tool", message, call)

    def _action(self, answer: Answer) -> str | None:
        """Return what the first call asks for; None: nothing."""
        made = answer.first()
        if made is None:
            return None
        call, arguments = made
        if self._has_own_tools:
            return json.dumps({"name": call.name, "arguments": arguments}, ensure_ascii=False)
        value = arguments.get(ARGUMENT) if call.name == TOOL else None
        return value if isinstance(value, str) else None

    def _tools(self, observation: Observation) -> tuple[Schema, ...]:
        if self._config.format != "tool":
            return ()
        if observation.tools:
            return observation.tools
        argument: dict[str, object] = {"type": "string"}
        actions = dict.fromkeys(observation.admissible or ())
        if 0 < len(actions) <= _MOST_CHOICES:
            argument["enum"] = list(actions)
        return (function_schema(TOOL, "Carry out one action in the environment.", {ARGUMENT: argument}, [ARGUMENT]),)


CONTEXT = (Messages, MessagesConfig)
