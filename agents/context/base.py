"""The interface of a context policy, which builds prompts and parses replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, runtime_checkable

from cairn.agents.backend import Message
from cairn.agents.forms.base import Parsed
from cairn.core.config import Config
from cairn.core.plugins import Plugin
from cairn.core.records import Observation, Schema

C = TypeVar("C", bound=Config)


@dataclass(frozen=True, slots=True)
class Prompt:
    """The input of the model for its next reply, as ids or as messages."""

    ids: tuple[int, ...]
    extends: bool  # the ids follow the previous turn's prompt and reply; else they are the whole prompt
    messages: tuple[Message, ...] = ()  # the whole prompt, if the context makes messages instead of ids
    tools: tuple[Schema, ...] = ()  # callable tools, if the context makes messages
    asks: Literal["action", "summary"] = "action"  # a summary goes to the context only: see `TakesNotes`


class Context(Protocol):
    """The history of one episode; a plug-in makes one object per episode."""

    def prompt(self, observation: Observation) -> Prompt:
        """Return the prompt for the next reply."""

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int], reply_text: str = "") -> None:
        """Record a turn.

        `reply_ids` are the sampled ids; they lack the end id if the reply was cut off.
        """

    def render(self, action: str) -> tuple[int, ...]:
        """Return the ids of a reply that means `action`, with the end id.

        Used for constraints and imitation.
        """

    def parse(self, reply: str, *, truncated: bool = False) -> Parsed:
        """Parse a reply, without its end token, into an action; `truncated`: the reply was cut off."""


@dataclass(frozen=True)
class ContextPlugin(Plugin[C]):
    """A context: ``make(config, encoder)`` returns a `Context`; the encoder is None if it makes messages."""

    makes: Literal["ids", "messages"] = "ids"


@runtime_checkable
class TakesNotes(Protocol):
    """A context that may ask for a summary before it asks for an action.

    `note` receives the summary; only then is the context asked for a prompt again.
    """

    def note(self, text: str) -> None:
        """Store the reply to the last prompt.

        The next prompt, for the same observation, asks for an action.
        """
