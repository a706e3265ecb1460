"""The episode as a conversation: observations are what the user says, replies are the model's and stay as sampled.

With full memory every prompt extends the one before. With a window, a prompt that would show more than
`history + stride - 1` earlier turns starts anew, with the first message and the last `history` turns; those in between
extend. So with a stride most turns cost only their own tokens, in sampling and in training. Replies in a prompt that
starts anew are the ids that were sampled. Its first message also counts what is not shown and takes in the oldest
observation that is, since chat templates want user and model to take turns.

Where the tokenizer has no chat template, the same texts stand end to end. Summaries take a model behind a server: see
`agents.context.messages`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import model_validator

from cairn.agents.context.base import Prompt
from cairn.agents.conversation import Conversation, ConversationConfig, form_of
from cairn.agents.models.tokens import Encoder
from cairn.agents.parse import Parsed
from cairn.core.records import Observation


class ChatConfig(ConversationConfig):
    """What is said, how it is answered, and how much of it is kept."""

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

    def prompt(self, observation: Observation) -> Prompt:
        """Return what the observation adds to the conversation, or the whole of a prompt that starts anew."""
        message, turns = self._talk.message(observation), self._talk.turns
        if not self._talk.starts_anew:
            return Prompt(self._after(len(turns), message), extends=True)
        messages = [*(shown for shown, _ in turns), message]
        ids = [*self._encoder.chat.opening(self._talk.opening(messages[0]), self._config.said)]
        for turn, (_, reply) in enumerate(turns, start=1):
            ids += (*reply, *self._after(turn, messages[turn]))
        return Prompt(tuple(ids), extends=False)

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int], reply_text: str = "") -> None:
        """Take note of a turn; leave out the oldest ones when it is time."""
        ids = tuple(reply_ids)
        said = ids[:-1] if self._encoder.is_closed(ids) else ids
        self._talk.add(
            observation, ids, self._form.parse(self._encoder.decode(said)).why if self._form.is_strict else ""
        )

    def render(self, action: str) -> tuple[int, ...]:
        """Return the ids of a valid reply and the end id."""
        return (*self._encoder.encode(self._form.write(action)), self._encoder.end_id)

    def parse(self, reply: str) -> Parsed:
        """Read a reply in the format that is asked for."""
        return self._form.parse(reply)

    def _after(self, turn: int, message: str) -> tuple[int, ...]:
        """Return the ids between the reply of the turn before and the next one."""
        return self._encoder.chat.following(
            turn,
            message,
            is_closed=self._encoder.is_closed(self._talk.turns[turn - 1][1]),
            has_system=self._config.said is not None,
        )


CONTEXT = (Chat, ChatConfig)
