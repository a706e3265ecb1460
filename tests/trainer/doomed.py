"""Doors behind which the environment breaks."""

from __future__ import annotations

import random
from typing import ClassVar

from pydantic import Field

from cairn.envs.base import EnvConfig, Outcome
from examples.doors import Doors


class DoomedConfig(EnvConfig):
    """Which tasks break."""

    doom: str = Field("", description="Start of the ids of the tasks that fail; empty: none.")


class Doomed(Doors):
    """Doors, of which some tasks cannot be played; whoever asks an oracle is spared."""

    Config: ClassVar[type[EnvConfig]] = DoomedConfig

    def start(self, task_id: str, rng: random.Random) -> str:
        self.is_spared = False
        return super().start(task_id, rng)

    def oracle_action(self, name: str) -> str:
        self.is_spared = True
        return super().oracle_action(name)

    def act(self, action: str) -> Outcome:
        assert isinstance(self.config, DoomedConfig)
        if not self.is_spared and self.config.doom and self.task_id.startswith(tuple(self.config.doom)):
            raise KeyError("the house is gone")
        return super().act(action)
