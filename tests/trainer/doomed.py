"""Doors behind which the environment breaks."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import ClassVar, Literal

from pydantic import Field

from cairn.envs.base import EnvConfig, Outcome
from examples.doors import Doors

MEMORY_BYTES = 192 << 20  # limit of a worker; its interpreter has allocated a third of it


class DoomedConfig(EnvConfig):
    """Which tasks break."""

    doom: str = Field("", description="Starts of the ids of the tasks that fail; empty: none.")
    how: Literal["raises", "hangs", "eats", "garbage"] = Field("raises", description="What happens in them.")


class Doomed(Doors):
    """Doors, of which some tasks cannot be played, except by an agent that uses the oracle."""

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
            _FAULTS[self.config.how]()
            return Outcome("Won.", reward="a lot")  # type: ignore[arg-type]  # garbage
        return super().act(action)


def _gone() -> None:
    raise KeyError("the house is gone")


def _eat() -> None:
    """Allocate more than the limit; zeros that are never read count against it and occupy no memory."""
    eaten = []
    for _ in range(2 * MEMORY_BYTES >> 24):
        eaten.append(bytes(1 << 24))


_FAULTS: dict[str, Callable[[], None]] = {
    "raises": _gone,
    "hangs": lambda: time.sleep(3600),
    "eats": _eat,
    "garbage": lambda: None,
}
