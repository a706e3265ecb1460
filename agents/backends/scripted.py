"""Replies without a model: oracle, random, constant, replay of a run, or a human."""

from __future__ import annotations

from pydantic import Field

from cairn.agents.backend import Reply, Request, text_reply
from cairn.agents.config import SamplingConfig, TurnBackendConfig
from cairn.agents.scripted import script
from cairn.core.errors import EpisodeFailure
from cairn.core.plugins import Plugin


class ScriptedConfig(TurnBackendConfig):
    """The scripted agent to use."""

    agent: str = Field(
        "oracle",
        description="oracle, oracle:NAME, random, constant:TEXT, replay:RUN, human, null, null:quit or injection.",
    )


class ScriptedBackend:
    """`agents.backend.Backend` that answers immediately, in text."""

    cache_tokens: int | None = None

    def __init__(self, config: ScriptedConfig, policy: object, sampling: SamplingConfig) -> None:
        self.num_slots, self.version, self.tokens_processed = sampling.slots, 0, 0
        self._script = script(config.agent)
        self._asked: dict[int, Request] = {}

    def submit(self, slot: int, request: Request) -> None:
        """Request a reply in this slot; see `agents.backend.Backend`."""
        self._asked[slot] = request

    def step(self) -> list[tuple[int, Reply | EpisodeFailure]]:
        """Answer all pending requests."""
        asked, self._asked = self._asked, {}
        return [(slot, self._answer(request)) for slot, request in asked.items()]

    def _answer(self, request: Request) -> Reply | EpisodeFailure:
        assert request.turn_context is not None  # episodes always set it
        try:
            text = self._script(request.turn_context, request.rng)
        except EpisodeFailure as failure:  # of the environment's oracle
            return failure
        return text_reply(text, "end")

    def so_far(self, slot: int) -> Reply | None:
        """Return None: there are no partial replies."""
        return None

    def abort(self, slot: int) -> None:
        """Remove the pending request."""
        self._asked.pop(slot, None)

    def fork(self, source: int, target: int) -> None:
        """Do nothing: slots have no state."""

    def sync_weights(self, version: int) -> None:
        """Store the version; there are no weights."""
        self.version = version

    def close(self) -> None:
        """Do nothing."""


BACKEND = Plugin(ScriptedConfig, ScriptedBackend)
