"""Household environment of ALFWorld's real games and generated houses, in text commands.

Splits ``train``, ``valid_seen`` and ``valid_unseen`` are the real games and need their files (see `games`);
``gen-train``, ``gen-valid`` and ``gen-test`` are generated from seeds (see `generator`) and need no files. The reward
is 1 when the goal is reached, which ends the episode, and 0 otherwise. `prompt` has the prompt and the reply format of
published runs.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from cairn.core.errors import CairnError, UnknownNameError
from cairn.core.keys import text_key
from cairn.envs.base import EnvConfig, EnvMeta, Outcome, TextEnv
from cairn.envs.household import paraphrase
from cairn.envs.household.belief import full_view, observed_view
from cairn.envs.household.games import Games, open_split, task_type_of
from cairn.envs.household.generator import GENERATED_SPLITS, MAX_TASKS, Size, generate
from cairn.envs.household.goals import STAGES, TASK_TYPES, TaskType
from cairn.envs.household.house import House
from cairn.envs.household.oracle import next_action
from cairn.envs.household.rules import act
from cairn.envs.household.world import HouseState
from cairn.envs.rephrasable import Rephrasable

_NUMBER = re.compile("[0-9]{6}")
_SOLVED: Mapping[str, float] = {"solved": 1.0}  # components of a turn's reward; one shared mapping for all turns
_NOT_SOLVED: Mapping[str, float] = {"solved": 0.0}


class HouseholdConfig(EnvConfig):
    """Configuration of the household environment."""

    split: Literal["train", "valid_seen", "valid_unseen", "gen-train", "gen-valid", "gen-test"] = Field(
        "gen-train", description="Real games (they need their files) or generated houses (gen-...)."
    )
    size: Size = Field(
        "small", description="Generated houses: tiny has 5-8 receptacles and few kinds, full as ALFWorld."
    )
    task_types: tuple[TaskType, ...] = Field(TASK_TYPES, min_length=1, description="Kinds of task to play.")
    num_tasks: int = Field(1000, ge=1, le=MAX_TASKS, description="Generated houses: how many tasks() lists.")
    anchor: Literal["state", "belief", "observation"] = Field(
        "state",
        description="The anchor's key: the true state, the state and the observed objects, or the raw text.",
    )


class HouseholdEnv(Rephrasable, TextEnv):
    """Find, treat and place objects in a house."""

    meta = EnvMeta(
        name="household",
        version=1,
        turn_limit=50,
        reward_range=(0.0, 1.0),
        summary="Household tasks in text: ALFWorld's 3,827 games and generated houses, in pure Python.",
        is_deterministic=True,
        has_terminal_reward=True,
        oracles=("planner", "explorer"),
        oracle_success=0.97,
        can_snapshot=True,
        can_reword=True,
        parts=("solved",),
    )
    Config = HouseholdConfig
    config: HouseholdConfig

    def setup(self) -> None:
        """Open the split."""
        config = self.config
        self._games: Games | None = None if config.split in GENERATED_SPLITS else open_split(config.split)
        if self._games is None:
            self._tasks: Sequence[str] = tuple(f"{config.split}/{i:06d}" for i in range(config.num_tasks))
        else:
            self._tasks = tuple(t for t in self._games.ids if task_type_of(t) in config.task_types)
        if not self._tasks:
            raise CairnError(f"household: split {config.split!r} has no game of the types {config.task_types!r}")
        self._world: HouseState | None = None

    def tasks(self) -> Sequence[str]:
        """Return the ids of the configured split and task types."""
        return self._tasks

    def has_task(self, task_id: str) -> bool:
        """Return whether the task exists; generated tasks beyond `num_tasks` exist too."""
        if self._games is not None:
            return task_id in self._games and task_type_of(task_id) in self.config.task_types
        return task_id.startswith(f"{self.config.split}/") and _NUMBER.fullmatch(task_id.partition("/")[2]) is not None

    def task_type(self, task_id: str) -> str:
        """Return the task's type, one of six."""
        if self._games is None:
            return self.config.task_types[self._index(task_id) % len(self.config.task_types)]
        return task_type_of(task_id) or self.house(task_id).goal.task_type

    def difficulty(self, task_id: str) -> str:
        """Return the number of manipulation steps that the task needs, from 2 to 4."""
        return str(STAGES[self.task_type(task_id)])

    def house(self, task_id: str) -> House:
        """Return a task's house.

        Raises:
            UnknownNameError: unknown task id.
            CairnError: the game's data is malformed.
        """
        if self._games is not None:
            return self._games.house(task_id)
        config = self.config
        return generate(config.split, self._index(task_id), size=config.size, task_types=config.task_types)

    @property
    def world(self) -> HouseState:
        """The current state; for oracles, viewers and tests."""
        if self._world is None:
            raise RuntimeError("household: call reset() first")
        return self._world

    def start(self, task_id: str, rng: random.Random) -> str:
        """Enter the house; nothing is random."""
        self._world = HouseState(self.house(task_id))
        house = self._world.house
        task = self.phrase_instruction(task_id, house.task, lambda: paraphrase.reworded(house.goal, house.task))
        return house.intro(task)

    def act(self, action: str) -> Outcome:
        """Carry out one command."""
        world = self.world
        text = act(world, action)
        if world.is_solved:
            return Outcome(text, reward=1.0, terminated=True, success=True, score=1.0, channels=_SOLVED)
        return Outcome(text, channels=_NOT_SOLVED)

    def state(self) -> bytes:
        """Return the true state, and the agent's knowledge too with ``anchor="belief"``."""
        key = self.world.key()
        return key + self.world.memory.key() if self.config.anchor == "belief" else key

    def anchor(self) -> int:
        """Return the state's 64-bit key, or with ``anchor="observation"`` the key of the last text."""
        if self.config.anchor == "observation":
            return text_key(self._last.text, self._scope)
        return super().anchor()

    def admissible(self) -> tuple[str, ...]:
        """Return every command that applies now, sorted."""
        return tuple(self.world.options)

    def oracle_action(self, name: str) -> str:
        """Return the planner's or the explorer's next command."""
        return next_action(full_view(self.world) if name == "planner" else observed_view(self.world))

    def command_names(self) -> Mapping[str, tuple[str, ...]]:
        """Return the command verbs, each with alternatives that have no other meaning here."""
        return paraphrase.COMMANDS

    def rename_commands(self, text: str, rename: Callable[[str], str]) -> str:
        """Return a text with the commands in its help renamed."""
        return paraphrase.rename_commands(text, rename)

    def shuffle_lists(self, text: str, shuffle: Callable[[list[str]], list[str]]) -> str:
        """Return a text with its lists of receptacles and objects shuffled."""
        return paraphrase.shuffle_lists(text, shuffle)

    def save_state(self) -> Any:  # Any: see World.save
        """Return the world's state."""
        return self.world.save()

    def load_state(self, saved: Any) -> None:  # Any: see World.save
        """Restore the world's state."""
        self.world.load(saved)

    def _index(self, task_id: str) -> int:
        """Return a generated task's number."""
        if not self.has_task(task_id):
            raise UnknownNameError("task of household", task_id, self.tasks(), "cairn envs list household --tasks")
        return int(task_id.partition("/")[2])


ENV = HouseholdEnv
