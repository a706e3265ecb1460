"""The episode as a conversation: observations are what the user says, replies are the model's and stay as sampled.

Without `history` every prompt extends the one before. With it, a prompt that would show more than
`history + stride - 1` earlier turns starts anew, with the first message and the last `history` turns; those in between
extend. So with a stride most turns cost only their own tokens, in sampling and in training. Replies in a prompt that
starts anew are the ids that were sampled. Its first message also counts what is not shown and takes in the oldest
observation that is, since chat templates want user and model to take turns.

Where the tokenizer has no chat template, the same texts stand end to end. The tagged format is read in lower case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from cairn.agents.context.base import Prompt
from cairn.agents.models.tokens import Encoder
from cairn.agents.parse import Parsed, plain
from cairn.core.config import Config
from cairn.core.records import Observation
from cairn.envs.replies import parse_tagged, write_tagged

_ASKS = {
    "plain": "Answer each message with one action and nothing else.",
    "tagged": "Answer each message with a thought inside <think> </think> tags, then one action inside "
    "<action> </action> tags.",
}
_FALLBACK_CHARS = 30  # without tags, this much of the reply's end is the action


class ChatConfig(Config):
    """What is said, how it is answered, and how much of it is kept."""

    system: str | None = Field(None, description="System message; None: none.")
    instruction: str | None = Field(
        None, description="Stands above the first observation. None: what the format asks for."
    )
    format: Literal["plain", "tagged"] = Field(
        "plain", description="A reply is an action, or a thought and an action in <think> and <action> tags."
    )
    list_actions: bool = Field(False, description="Admissible actions stand below each observation.")
    history: int | None = Field(None, ge=0, description="Earlier turns that a prompt starts anew with. None: all stay.")
    stride: int = Field(1, ge=1, description="With `history`: a prompt starts anew once in so many turns.")

    @model_validator(mode="after")
    def _check(self) -> ChatConfig:
        if self.history is None and self.stride > 1:
            raise ValueError("stride needs a history: without one no prompt starts anew")
        return self


class Chat:
    """`agents.context.base.Context` that holds a conversation."""

    def __init__(self, config: ChatConfig, encoder: Encoder) -> None:
        self._config, self._encoder = config, encoder
        self._instruction = _ASKS[config.format] if config.instruction is None else config.instruction
        self._first: str | None = None  # the first observation
        self._turns: list[tuple[str, tuple[int, ...]]] = []  # those still shown: message and reply
        self._num_left_out = 0
        self._starts_anew = True

    def prompt(self, observation: Observation) -> Prompt:
        """Return what the observation adds to the conversation, or the whole of a prompt that starts anew."""
        message = self._message(observation)
        if not self._starts_anew:
            return Prompt(self._after(len(self._turns), message), extends=True)
        messages = [*(shown for shown, _ in self._turns), message]
        ids = [*self._encoder.chat.opening(self._opening(messages[0]), self._config.system)]
        for turn, (_, reply) in enumerate(self._turns, start=1):
            ids += (*reply, *self._after(turn, messages[turn]))
        return Prompt(tuple(ids), extends=False)

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int]) -> None:
        """Take note of a turn; leave out the oldest ones when it is time."""
        if self._first is None:
            self._first = observation.text
        self._turns.append((self._message(observation), tuple(reply_ids)))
        history = self._config.history
        self._starts_anew = history is not None and len(self._turns) >= history + self._config.stride
        if history is not None and self._starts_anew:
            self._num_left_out += len(self._turns) - history
            del self._turns[: len(self._turns) - history]

    def render(self, action: str) -> tuple[int, ...]:
        """Return the ids of a valid reply and the end id."""
        reply = action if self._config.format == "plain" else write_tagged(action)
        return (*self._encoder.encode(reply), self._encoder.end_id)

    def parse(self, reply: str) -> Parsed:
        """Read a reply in the format that is asked for."""
        if self._config.format == "plain":
            return plain(reply)
        read = parse_tagged(reply, _FALLBACK_CHARS)
        return Parsed(action=read.action, is_valid=read.is_valid)

    def _message(self, observation: Observation) -> str:
        if not self._config.list_actions or not observation.admissible:
            return observation.text
        return "\n".join((observation.text, "", "Possible actions:", *observation.admissible))

    def _opening(self, message: str) -> str:
        """Return the first message: instruction, first observation and how many turns are not shown, `message`."""
        before = [self._instruction]
        if self._num_left_out:
            before += [self._first or "", f"({self._num_left_out} turns are not shown.)"]
        return "\n\n".join((*filter(None, before), message))

    def _after(self, turn: int, message: str) -> tuple[int, ...]:
        """Return the ids between the reply of the turn before and the next one."""
        return self._encoder.chat.following(
            turn,
            message,
            is_closed=self._encoder.is_closed(self._turns[turn - 1][1]),
            has_system=self._config.system is not None,
        )


CONTEXT = (Chat, ChatConfig)
