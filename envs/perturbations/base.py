"""The interface of perturbations: they change texts and names of actions, never the world.

The world, its rules, its anchors and its scores do not change; the oracle's actions are the same, in other words.
Random choices depend on the perturbation's own seed and the task's id, not on the seed of `reset`: all attempts at a
task have the same wording, in every process, and equal anchors still have equal texts.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from cairn.core.config import Config
from cairn.core.records import Schema
from cairn.envs.base import TextEnv


class PerturbationConfig(Config):
    """Settings of every perturbation."""

    seed: int = Field(0, description="Of the random choices for each task.")


class Perturbation:
    """A perturbation without effect. Subclasses override the methods that they change."""

    violates: ClassVar[tuple[str, ...]] = ()  # properties of environments that it violates intentionally

    def __init__(self, config: PerturbationConfig, env: TextEnv) -> None:
        """Store the settings and the environment.

        Raises:
            ConfigError: the environment does not support this perturbation.
        """
        self.config, self.env, self.task_id = config, env, ""

    def begin(self, task_id: str) -> None:
        """Draw the random choices for a task."""
        self.task_id = task_id

    def text(self, text: str) -> str:
        """Return the agent's version of a text of the environment."""
        return text

    def admissible(self, actions: tuple[str, ...]) -> tuple[str, ...]:
        """Return the agent's version of the admissible actions."""
        return actions

    def tools(self, tools: tuple[Schema, ...]) -> tuple[Schema, ...]:
        """Return the agent's version of the tool schemas."""
        return tools

    def to_env(self, action: str) -> str:
        """Return the environment's version of an agent's action."""
        return action

    def to_agent(self, action: str) -> str:
        """Return the agent's version of an action of the environment."""
        return action
