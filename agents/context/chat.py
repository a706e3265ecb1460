"""The episode as a conversation: observations are what the user says, replies are the model's and stay as sampled.

With full memory every prompt extends the one before. With a window, a prompt that would show more than
`history + stride - 1` earlier turns starts anew, with the first message and the last `history` turns; those in between
extend. So with a stride most turns cost only their own tokens, in sampling and in training. Replies in a prompt that
starts anew are the ids that were sampled. Its first message also counts what is not shown and takes in the oldest
observation that is, since chat templates want user and model to take turns.

With `tools`, the chat template is given the schemas of the environment's tools, and a reply is a call of one: see
`agents.tool_calls.read_reply` and `agents.tool_calls`. A prompt starts again where the tools are not those of the turn
before.

Where the tokenizer has no chat template, the same texts stand end to end; `agents.agent` refuses that for models that
were not trained so. Summaries take a model behind a server: see
`agents.context.messages`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, model_validator

from cairn.agents.context.base import Prompt
from cairn.agents.conversation import Conversation, ConversationConfig, form_of
from cairn.agents.forms.base import Parsed, invalid
from cairn.agents.models.tokens import Encoder
from cairn.agents.prompts import load_prompt
from cairn.agents.tool_calls import ToolSet, read_reply, write_reply
from cairn.core.errors import ConfigError
from cairn.core.records import Observation, Schema


class ChatConfig(ConversationConfig):
    """What is said, how it is answered, and how much of it is kept."""

    tools: bool = Field(
        False,
        description="Where the environment lists tools, the chat template shows their schemas and a reply is a call: "
        "JSON, alone or in <tool_call> tags. Elsewhere replies are as `format` says.",
    )

    def prompts(self) -> dict[str, str]:
        """Return the texts that the model is shown in every episode, by setting."""
        return super().prompts() | ({"tools": self.tool_instruction} if self.tools else {})

    @property
    def tool_instruction(self) -> str:
        """The text above the first observation where tools are called."""
        is_set = self.instruction is not None or self.instruction_file is not None
        return self.told if is_set else load_prompt("forms", "tool")

    @model_validator(mode="after")
    def _check_memory_of_ids(self) -> ChatConfig:
        if self.policy == "summary":
            raise ValueError("memory = 'summary' is for conversations in text: choose the context 'messages'")
        return self


class Chat:
    """`agents.context.base.Context` that holds a conversation."""

    def __init__(self, config: ChatConfig, encoder: Encoder) -> None:
        self._config, self._encoder, self._form = config, encoder, form_of(config)
        self._talk = Conversation[tuple[int, ...]](config)
        self._tool_set: ToolSet | None = None  # the tools of the current prompt; None: replies are as the form says

    def prompt(self, observation: Observation) -> Prompt:
        """Return what the observation adds to the conversation, or the whole of a prompt that starts anew."""
        before, self._tool_set = self._tools, self._offered(observation)
        message, turns = self._talk.message(observation), self._talk.turns
        if not self._talk.starts_anew and before == self._tools:
            return Prompt(self._after(len(turns), message), extends=True)
        messages = [*(shown for shown, _ in turns), message]
        instruction = None if self._tool_set is None else self._config.tool_instruction
        first = self._talk.opening(messages[0], instruction)
        ids = [*self._encoder.chat.opening(first, self._config.system_text, self._tools)]
        for turn, (_, reply) in enumerate(turns, start=1):
            ids += (*reply, *self._after(turn, messages[turn]))
        return Prompt(tuple(ids), extends=False)

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int], reply_text: str = "") -> None:
        """Take note of a turn; leave out the oldest ones when it is time."""
        ids = tuple(reply_ids)
        tool_set = self._offered(observation)
        reply = self._encoder.decode(self._encoder.without_end(ids))
        self._talk.add(observation, ids, self._read(reply, tool_set).error if tool_set or self._form.is_strict else "")

    def render(self, action: str) -> tuple[int, ...]:
        """Return the ids of a valid reply and the end id.

        Raises:
            ConfigError: a reply is a call of a tool here, and the action is not one.
        """
        written = self._form.write(action) if self._tool_set is None else write_reply(action)
        if self._tool_set is not None and not self.parse(written).is_valid:
            raise ConfigError(
                f"agent.context.chat.tools: the action {action[:80]!r} is not a call of a tool; set it to false"
            )
        return (*self._encoder.encode(written), self._encoder.end_id)

    def parse(self, reply: str) -> Parsed:
        """Read a reply in the format that is asked for."""
        return self._read(reply, self._tool_set)

    @property
    def _tools(self) -> tuple[Schema, ...]:
        return () if self._tool_set is None else self._tool_set.tools

    def _offered(self, observation: Observation) -> ToolSet | None:
        return ToolSet(observation) if self._config.tools and observation.tools else None

    def _read(self, reply: str, tool_set: ToolSet | None) -> Parsed:
        if tool_set is None:
            return self._form.parse(reply)
        answer = read_reply(reply)
        return invalid(answer) if isinstance(answer, str) else tool_set.read(answer).parsed

    def _after(self, turn: int, message: str) -> tuple[int, ...]:
        """Return the ids between the reply of the turn before and the next one."""
        return self._encoder.chat.following(
            turn,
            message,
            is_closed=self._encoder.is_closed(self._talk.turns[turn - 1][1]),
            has_system=self._config.system_text is not None,
            tools=self._tools,
        )


CONTEXT = (Chat, ChatConfig)
