"""An episode as a conversation: what is said, how it is answered and how much stays, whatever a reply is kept as."""

from __future__ import annotations

from typing import Generic, TypeVar

from pydantic import Field, model_validator

from cairn.agents.parse import Parsed, plain
from cairn.core.config import Config
from cairn.core.records import Observation
from cairn.envs.replies import parse_tagged

ASKS = {
    "plain": "Answer each message with one action and nothing else.",
    "tagged": "Answer each message with a thought inside <think> </think> tags, then one action inside "
    "<action> </action> tags.",
    "tool": "Answer each message by calling one tool, once.",
}
_FALLBACK_CHARS = 30  # without tags, this much of the reply's end is the action

R = TypeVar("R")  # what a reply is kept as


class ConversationConfig(Config):
    """What is said and how much of it is kept."""

    system: str | None = Field(None, description="System message; None: none.")
    instruction: str | None = Field(
        None, description="Stands above the first observation. None: what the format asks for."
    )
    list_actions: bool = Field(False, description="Admissible actions stand below each observation.")
    history: int | None = Field(None, ge=0, description="Earlier turns that a prompt starts anew with. None: all stay.")
    stride: int = Field(1, ge=1, description="With `history`: a prompt starts anew once in so many turns.")

    @model_validator(mode="after")
    def _check(self) -> ConversationConfig:
        if self.history is None and self.stride > 1:
            raise ValueError("stride needs a history: without one no prompt starts anew")
        return self


class Conversation(Generic[R]):
    """The part of one episode's conversation that is still shown."""

    def __init__(self, config: ConversationConfig, ask: str) -> None:
        self._config = config
        self._instruction = ask if config.instruction is None else config.instruction
        self._first: str | None = None  # the first observation
        self.turns: list[tuple[str, R]] = []  # those still shown: message and reply
        self._num_left_out = 0
        self.starts_anew = True

    def add(self, observation: Observation, reply: R) -> None:
        """Take note of a turn; leave out the oldest ones when it is time."""
        if self._first is None:
            self._first = observation.text
        self.turns.append((self.message(observation), reply))
        history = self._config.history
        self.starts_anew = history is not None and len(self.turns) >= history + self._config.stride
        if history is not None and self.starts_anew:
            self._num_left_out += len(self.turns) - history
            del self.turns[: len(self.turns) - history]

    def message(self, observation: Observation) -> str:
        """Return what an observation says."""
        if not self._config.list_actions or not observation.admissible:
            return observation.text
        return "\n".join((observation.text, "", "Possible actions:", *observation.admissible))

    def opening(self, message: str) -> str:
        """Return the first message: instruction, first observation and how many turns are not shown, `message`."""
        before = [self._instruction]
        if self._num_left_out:
            before += [self._first or "", f"({self._num_left_out} turns are not shown.)"]
        return "\n\n".join((*filter(None, before), message))


def read_text(form: str, reply: str) -> Parsed:
    """Read a reply in the format that is asked for, ``plain`` or ``tagged``."""
    if form == "plain":
        return plain(reply)
    read = parse_tagged(reply, _FALLBACK_CHARS)
    return Parsed(action=read.action, is_valid=read.is_valid)
