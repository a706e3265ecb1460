"""The episode as a chat: observations are user messages, replies are assistant messages.

With full memory, every prompt extends the previous one. With a window, a prompt that would show more than `history +
stride - 1` earlier turns restarts with the first message and the last `history` turns; the prompts in between extend.
So with a large stride, most turns cost only their own tokens, in sampling and in training. A restarted prompt contains
the replies as sampled ids. Its first message also states the number of hidden turns and includes the oldest shown
observation, since chat templates require user and assistant messages to alternate.

With `tools`, the chat template gets the schemas of the environment's tools, and a reply is a tool call: see
`agents.tool_calls`. The next observation is the call's result, as a tool message; after a reply without a call it is a
user message. A prompt restarts if the tools differ from those of the previous turn.

If the tokenizer has no chat template, the texts are concatenated; `agents.agent` rejects that for models that were not
trained with this format. Summaries need a model server: see `agents.context.messages`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import Field, model_validator

from cairn.agents.context.base import ContextPlugin, Prompt
from cairn.agents.conversation import Conversation, ConversationConfig, TurnContent, form_of
from cairn.agents.forms.base import Parsed, invalid
from cairn.agents.models.layouts import Following
from cairn.agents.models.tokens import Encoder
from cairn.agents.prompts import load_prompt
from cairn.agents.tool_calls import CUT, ToolCallResult, ToolSet, read_action
from cairn.core.errors import ConfigError
from cairn.core.records import Observation, Schema, function_schema

_ANY_TOOL = function_schema("look", "Look at a thing.", {"thing": {"type": "string"}}, ["thing"])


class ChatConfig(ConversationConfig):
    """The instructions, the reply format and the memory of a chat."""

    tools: bool = Field(
        False,
        description="Where the environment lists tools, the chat template shows their schemas, a reply is a call in "
        "the format of the model's family, and its result is a message of the tool. Elsewhere replies are as `format` "
        "says.",
    )

    def prompts(self) -> dict[str, str]:
        """Return the fixed prompt texts of every episode, by setting."""
        return super().prompts() | ({"tools": self.tool_instruction} if self.tools else {})

    @property
    def tool_instruction(self) -> str:
        """The text above the first observation if the environment has tools."""
        is_set = self.instruction is not None or self.instruction_file is not None
        return self.instruction_text if is_set else load_prompt("forms", "tool")

    @model_validator(mode="after")
    def _check_memory_of_ids(self) -> ChatConfig:
        if self.policy == "summary":
            raise ValueError("memory = 'summary' is for conversations in text: choose the context 'messages'")
        return self


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply that is shown in later prompts."""

    ids: tuple[int, ...]  # as sampled
    read: ToolCallResult


class Chat:
    """`agents.context.base.Context` that holds a conversation."""

    def __init__(self, config: ChatConfig, encoder: Encoder) -> None:
        """Set up an episode.

        Raises:
            ConfigError: the tokenizer's chat template cannot be extended turn by turn.
        """
        self._config, self._encoder, self._form = config, encoder, form_of(config)
        self._require_extendable()
        self._talk = Conversation[_Reply](config)
        self._tool_set: ToolSet | None = None  # tools of the current prompt; None: replies use the form

    def prompt(self, observation: Observation) -> Prompt:
        """Return the ids that the observation adds, or the whole prompt if it restarts."""
        before, self._tool_set = self._tools, self._offered(observation)
        message, turns = self._talk.message(observation), self._talk.turns
        if not self._talk.starts_anew and before == self._tools:
            return Prompt(self._after(len(turns), turns[-1][1], message), extends=True)
        messages = [*(shown for shown, _ in turns), message]
        instruction = None if self._tool_set is None else self._config.tool_instruction
        first = self._talk.opening(messages[0].text, instruction)
        ids = [*self._encoder.chat.opening(first, self._config.system_text, self._tools)]
        for turn, (_, reply) in enumerate(turns, start=1):
            ids += (*reply.ids, *self._after(turn, reply, messages[turn]))
        return Prompt(tuple(ids), extends=False)

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int], reply_text: str = "") -> None:
        """Record a turn; hide the oldest turns if the window is full."""
        ids = tuple(reply_ids)
        tool_set = self._offered(observation)
        reply = self._encoder.without_end(ids)
        read = self._read(self._encoder.decode(reply), tool_set, truncated=len(reply) == len(ids))
        error = read.parsed.error if tool_set or self._form.is_strict else ""
        self._talk.add(observation, _Reply(ids, read), error)

    def render(self, action: str) -> tuple[int, ...]:
        """Return the ids of a valid reply and the end id.

        Raises:
            ConfigError: tools are offered and the action is not a valid call, or the template does not write it
                readably.
        """
        if self._tool_set is None:
            return self._text(self._form.write(action))
        read = self._tool_set.read(read_action(action))
        if not read.parsed.is_valid:
            raise ConfigError(
                f"agent.context.chat.tools: the action {action[:80]!r} is not a call of a tool; set it to false"
            )
        if read.calls:
            ids = self._encoder.chat.reply(read.calls, self._tools)
        else:
            ids = self._text(read.parsed.action)
        if (again := self._read(self._encoder.decode(ids[:-1]), self._tool_set).parsed) != read.parsed:
            raise ConfigError(
                f"agent.context.chat.tools: the chat template writes {action[:80]!r} in a way that its format of calls "
                f"reads as {again.action[:80] or again.error!r}; set model.chat_template to one that ships with Cairn"
            )
        return ids

    def parse(self, reply: str, *, truncated: bool = False) -> Parsed:
        """Parse a reply in the configured format."""
        return self._read(reply, self._tool_set, truncated=truncated).parsed

    def _require_extendable(self) -> None:
        """Check the chat template with and without tools.

        At this point it is unknown whether the environment lists tools.
        """
        has_system = self._config.system_text is not None
        if self._config.tools and self._encoder.call_format is None:
            raise ConfigError(
                "agent.context.chat.tools: it is not known how models with this chat template write calls; set "
                "model.chat_template to one that ships with Cairn, or tools = false (docs/contexts.md)"
            )
        try:
            self._encoder.chat.check(has_system=has_system, tools=(_ANY_TOOL,) if self._config.tools else ())
        except ConfigError:
            if not self._config.tools:
                raise
            self._encoder.chat.check(has_system=has_system)

    @property
    def _tools(self) -> tuple[Schema, ...]:
        return () if self._tool_set is None else self._tool_set.tools

    def _offered(self, observation: Observation) -> ToolSet | None:
        if not self._config.tools or not observation.tools:
            return None
        if observation.max_calls > 1 and not self._encoder.chat.takes_several_calls(observation.tools):
            observation = replace(observation, max_calls=1)
        return ToolSet(observation)

    def _text(self, reply: str) -> tuple[int, ...]:
        """Return the ids of a reply without a call; a thought that the prompt opened is left empty."""
        return (*self._encoder.chat.closing, *self._encoder.encode(reply), self._encoder.end_id)

    def _read(self, reply: str, tool_set: ToolSet | None, *, truncated: bool = False) -> ToolCallResult:
        """Parse a reply; the form does not get a thought that the prompt opened."""
        opened = self._encoder.chat.opened
        if opened and "</think>" not in reply:
            return ToolCallResult(invalid("its thought is not closed with </think>. Think more briefly, then answer"))
        if tool_set is None:
            return ToolCallResult(self._form.parse(reply.partition("</think>")[2] if opened else reply))
        if truncated:
            return ToolCallResult(invalid(CUT))
        assert self._encoder.call_format is not None  # checked by `_require_extendable`
        answer = self._encoder.call_format.read(opened + reply, tool_set.tools)
        return ToolCallResult(invalid(answer)) if isinstance(answer, str) else tool_set.read(answer)

    def _after(self, turn: int, reply: _Reply, shown: TurnContent) -> tuple[int, ...]:
        """Return the ids between the previous turn's reply and the next reply."""
        return self._encoder.chat.following(
            turn,
            Following(reply.read.results(shown) or (shown.text,), reply.read.calls),
            is_closed=self._encoder.is_closed(reply.ids),
            has_system=self._config.system_text is not None,
            tools=self._tools,
        )


CONTEXT = ContextPlugin(ChatConfig, Chat)
