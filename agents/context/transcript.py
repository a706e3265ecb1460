"""The whole episode as one growing text: observation, reply, observation, reply. Every prompt extends the one before.

The cheapest context there is: each token is computed once while sampling and once while training. It shows no list of
admissible actions; constrain decoding to them instead.
"""

from __future__ import annotations

from cairn.agents import parse
from cairn.agents.context.base import Prompt
from cairn.agents.models.tokens import Encoder
from cairn.core.config import Config
from cairn.core.records import Observation


class TranscriptConfig(Config):
    """A transcript has nothing to set."""


class Transcript:
    """`agents.context.base.Context` that appends."""

    def __init__(self, config: TranscriptConfig, encoder: Encoder) -> None:
        self._encoder = encoder
        self._is_first = True
        self._opener = (encoder.act_id,) if encoder.act_id is not None else encoder.encode("\n> ")

    def prompt(self, observation: Observation) -> Prompt:
        """Return the observation's ids and the mark that opens a reply."""
        return Prompt((*self._encoder.encode(observation.text), *self._opener), extends=not self._is_first)

    def record(self, observation: Observation, action: str) -> None:
        """Take note that the sequence has begun."""
        self._is_first = False

    def render(self, action: str) -> tuple[int, ...]:
        """Return the action's ids and the end id."""
        return (*self._encoder.encode(action), self._encoder.end_id)

    def parse(self, reply: str) -> parse.Parsed:
        """Take the whole reply as the action."""
        return parse.plain(reply)


CONTEXT = (Transcript, TranscriptConfig)
