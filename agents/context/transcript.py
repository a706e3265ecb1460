"""The whole episode as one growing text: observation, reply, observation, reply, ...

Every prompt extends the previous one. This is the cheapest context: each token is computed once in sampling and once in
training. It does not list admissible actions; constrain decoding to them instead. With `remind`, the task is repeated
before every later reply, so that a small model need not attend far back; the cost is the task's length per turn. It
uses no chat template.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from cairn.agents.context.base import ContextPlugin, Prompt
from cairn.agents.forms.base import Parsed, plain
from cairn.agents.memory import task_in
from cairn.agents.models.tokens import Encoder
from cairn.core.config import Config
from cairn.core.records import Observation

_REMIND = "agent.context.transcript.remind"


class TranscriptConfig(Config):
    """The text added to the observations."""

    remind: str | None = Field(
        None,
        min_length=1,
        description="What leads up to the task in an episode's first text: the rest of that line is repeated before "
        "every later reply. None: nothing is.",
    )


class Transcript:
    """`agents.context.base.Context` that only appends."""

    def __init__(self, config: TranscriptConfig, encoder: Encoder) -> None:
        self._config, self._encoder = config, encoder
        self._is_first = True
        self._reminder: tuple[int, ...] = ()
        self._closing: tuple[int, ...] = ()  # the end id, if the last reply was cut off

    def prompt(self, observation: Observation) -> Prompt:
        """Return the ids of the observation, the repeated task if any, and the reply marker.

        The end id comes first if the previous reply was cut off without one.

        Raises:
            ConfigError: `remind` does not match the first text.
        """
        if self._is_first and self._config.remind is not None:
            task = task_in(observation.text, self._config.remind, _REMIND)
            self._reminder = self._encoder.encode(f" {task}")  # with the leading space that it has within the line
        reminder = () if self._is_first else self._reminder
        text = self._encoder.encode(observation.text)
        return Prompt((*self._closing, *text, *reminder, *self._encoder.plain.opener), extends=not self._is_first)

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int], reply_text: str = "") -> None:
        """Record that the sequence has begun, and whether its last reply has an end id."""
        self._is_first = False
        self._closing = () if self._encoder.is_closed(reply_ids) else (self._encoder.end_id,)

    def render(self, action: str) -> tuple[int, ...]:
        """Return the action's ids and the end id."""
        return (*self._encoder.encode(action), self._encoder.end_id)

    def parse(self, reply: str, *, truncated: bool = False) -> Parsed:
        """Return the whole reply as the action."""
        return plain(reply)


CONTEXT = ContextPlugin(TranscriptConfig, Transcript)
