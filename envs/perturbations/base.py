"""What a perturbation may change: what an agent is told, and what its actions are called; never what is true.

The world, its rules, its anchors and its scores stay as they are; so does what the oracle does, in other words. What is
drawn follows from the perturbation's own seed and the task's id, and not from the seed that `reset` gets: attempts at a
task are told alike, in every process, and equal anchors go on having equal texts.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from cairn.core.config import Config
from cairn.core.records import Schema
from cairn.envs.base import TextEnv


class PerturbationConfig(Config):
    """What every perturbation can be told."""

    seed: int = Field(0, description="Of the random choices for each task.")


class Perturbation:
    """Leaves everything as it is. Subclasses change what they are about, and say so in `PERTURBATION`."""

    violates: ClassVar[tuple[str, ...]] = ()  # properties of environments that do not hold under it, by intent

    def __init__(self, config: PerturbationConfig, env: TextEnv) -> None:
        """Prepare `env`.

        Raises:
            ConfigError: it cannot be told otherwise in this respect.
        """
        self.config, self.env, self.task_id = config, env, ""

    def begin(self, task_id: str) -> None:
        """Draw what holds for a task."""
        self.task_id = task_id

    def text(self, text: str) -> str:
        """Return what the agent is shown for a text of the environment's."""
        return text

    def admissible(self, actions: tuple[str, ...]) -> tuple[str, ...]:
        """Return admissible actions as the agent is told of them."""
        return actions

    def tools(self, tools: tuple[Schema, ...]) -> tuple[Schema, ...]:
        """Return functions as the agent is told of them."""
        return tools

    def to_env(self, action: str) -> str:
        """Return what the environment is sent for an action of the agent's."""
        return action

    def to_agent(self, action: str) -> str:
        """Return what an agent says to have the environment sent this action."""
        return action
