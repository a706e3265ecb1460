"""Replies without a model: oracle, random choice, a constant, a run played again, a person at the terminal."""

from __future__ import annotations

from pydantic import Field

from cairn.agents.backend import Reply, Request, text_reply
from cairn.agents.config import SamplingConfig, TurnBackendConfig
from cairn.agents.scripted import script
from cairn.core.errors import EpisodeFailure


class ScriptedConfig(TurnBackendConfig):
    """Which of these agents."""

    agent: str = Field(
        "oracle",
        description="oracle, oracle:NAME, random, constant:TEXT, replay:RUN, human, null, null:quit or injection.",
    )


class ScriptedBackend:
    """`agents.backend.Backend` that answers at once, in text."""

    cache_tokens: int | None = None

    def __init__(self, policy: object, sampling: SamplingConfig, config: ScriptedConfig) -> None:
        self.num_slots, self.version, self.tokens_processed = sampling.slots, 0, 0
        self._script = script(config.agent)
        self._asked: dict[int, Request] = {}

    def submit(self, slot: int, request: Request) -> None:
        """Ask for a reply in this slot; see `agents.backend.Backend`."""
        self._asked[slot] = request

    def step(self) -> list[tuple[int, Reply | EpisodeFailure]]:
        """Answer everything that was asked."""
        asked, self._asked = self._asked, {}
        return [(slot, self._answer(request)) for slot, request in asked.items()]

    def _answer(self, request: Request) -> Reply | EpisodeFailure:
        assert request.turn_context is not None  # an episode always has one
        try:
            text = self._script(request.turn_context, request.rng)
        except EpisodeFailure as failure:  # of the environment's oracle
            return failure
        return text_reply(text, "end")

    def so_far(self, slot: int) -> Reply | None:
        """Answers are whole."""
        return None

    def abort(self, slot: int) -> None:
        """Forget what was asked."""
        self._asked.pop(slot, None)

    def fork(self, source: int, target: int) -> None:
        """Slots hold nothing."""

    def pause(self) -> None:
        """Nothing is answered outside `step`."""

    def resume(self) -> None:
        """Nothing was stopped."""

    def sync_weights(self, version: int) -> None:
        """Count: there are no weights."""
        self.version = version

    def close(self) -> None:
        """Nothing is held."""


BACKEND = (ScriptedBackend, ScriptedConfig)
