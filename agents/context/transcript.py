"""The whole episode as one growing text: observation, reply, observation, reply. Every prompt extends the one before.

The cheapest context there is: each token is computed once while sampling and once while training. It shows no list of
admissible actions; constrain decoding to them instead. With `remind` the task is said again before every later reply,
so that a small model need not look for it far back; that costs the task's length a turn. It uses no chat template.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from cairn.agents.context.base import Prompt
from cairn.agents.forms.base import Parsed, plain
from cairn.agents.memory import task_in
from cairn.agents.models.tokens import Encoder
from cairn.core.config import Config
from cairn.core.records import Observation

_REMIND = "agent.context.transcript.remind"


class TranscriptConfig(Config):
    """What is said besides the observations."""

    remind: str | None = Field(
        None,
        min_length=1,
        description="What leads up to the task in an episode's first text: the rest of that line is repeated before "
        "every later reply. None: nothing is.",
    )


class Transcript:
    """`agents.context.base.Context` that appends."""

    def __init__(self, config: TranscriptConfig, encoder: Encoder) -> None:
        self._config, self._encoder = config, encoder
        self._is_first = True
        self._reminder: tuple[int, ...] = ()
        self._closing: tuple[int, ...] = ()  # what a reply that was cut lacks

    def prompt(self, observation: Observation) -> Prompt:
        """Return the ids of the observation, of the task where it is repeated, and of the mark that opens a reply.

        The end id comes first if the reply before was cut without one.

        Raises:
            ConfigError: the first text does not state its task as `remind` says.
        """
        if self._is_first and self._config.remind is not None:
            task = task_in(observation.text, self._config.remind, _REMIND)
            self._reminder = self._encoder.encode(f" {task}")  # with a space before it, as within the line
        reminder = () if self._is_first else self._reminder
        text = self._encoder.encode(observation.text)
        return Prompt((*self._closing, *text, *reminder, *self._encoder.plain.opener), extends=not self._is_first)

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int], reply_text: str = "") -> None:
        """Take note that the sequence has begun, and whether its last reply was closed."""
        self._is_first = False
        self._closing = () if self._encoder.is_closed(reply_ids) else (self._encoder.end_id,)

    def render(self, action: str) -> tuple[int, ...]:
        """Return the action's ids and the end id."""
        return (*self._encoder.encode(action), self._encoder.end_id)

    def parse(self, reply: str, *, is_cut: bool = False) -> Parsed:
        """Take the whole reply as the action."""
        return plain(reply)


CONTEXT = (Transcript, TranscriptConfig)
