"""The contract of a context policy: it turns one episode's history into prompt ids, and reads replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from cairn.agents.backend import Message
from cairn.agents.forms.base import Parsed
from cairn.core.records import Observation, Schema


@dataclass(frozen=True, slots=True)
class Prompt:
    """Ids to put before a reply."""

    ids: tuple[int, ...]
    extends: bool  # they follow the previous turn's prompt and reply; else they are the whole prompt
    messages: tuple[Message, ...] = ()  # the whole prompt, of a context that makes no ids
    tools: tuple[Schema, ...] = ()  # beside messages: what may be called
    asks: Literal["action", "summary"] = "action"  # a summary is for the context alone: see `TakesNotes`


class Context(Protocol):
    """One episode's history. Build one per episode. A class that makes text says so: `makes_messages = True`."""

    def prompt(self, observation: Observation) -> Prompt:
        """Return what is put before the next reply."""

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int], reply_text: str = "") -> None:
        """Take note of what was answered, as it was sampled: with the end id, or without where the reply was cut."""

    def render(self, action: str) -> tuple[int, ...]:
        """Return the ids of a reply that means `action`, closed by the end id: for constraints and for imitation."""

    def parse(self, reply: str, *, is_cut: bool = False) -> Parsed:
        """Return what a reply, without its end token, asks for; `is_cut`: it was cut off before its end."""


@runtime_checkable
class TakesNotes(Protocol):
    """A context that may ask for a summary in place of an action, and is then given it before it is asked again."""

    def note(self, text: str) -> None:
        """Take in what its last prompt asked for; the next one, for the same observation, asks for an action."""
