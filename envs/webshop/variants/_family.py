"""Base class of task families: the web shop with other tasks and instructions."""

from __future__ import annotations

import random
from typing import Generic, Literal, TypeVar

from pydantic import Field

from cairn.envs.webshop.env import WebShopConfig, WebShopEnv
from cairn.envs.webshop.goals import ShoppingGoal
from cairn.envs.webshop.oracle import ShoppingPlan
from cairn.envs.webshop.variants._tasks import ShopTask, Tasks

T = TypeVar("T", bound=ShopTask)


class FamilyConfig(WebShopConfig):
    """The web shop's settings, with synthetic goals only, whose parts are known."""

    goals: Literal["synthetic"] = Field("synthetic", description="What tasks are made of.")


class Family(WebShopEnv, Generic[T]):
    """A web shop whose tasks are derived from its goals.

    Subclasses define the derivation and change parts of the shop.
    """

    Config = FamilyConfig
    config: FamilyConfig

    def make_tasks(self) -> Tasks[T]:
        """Return the family's tasks in this shop; all environments of a process share them."""
        raise NotImplementedError

    def setup(self) -> None:
        """Open the shop.

        Raises:
            CairnError: no goal of a split yields a task.
        """
        super().setup()
        self._made = self.make_tasks()
        self._made.require(self.config.split)

    @property
    def prefix(self) -> str:
        """The family's name."""
        return f"{self.meta.name.rpartition('/')[2]}/"

    def has_task(self, task_id: str) -> bool:
        """Return whether the task exists, in any split."""
        return super().has_task(task_id) and self._made.has(self.place(task_id))

    def task(self, task_id: str) -> T:
        """Return a task."""
        return self._made.find(self.place(task_id))

    def goal(self, task_id: str) -> ShoppingGoal:
        """Return a task's goal; with several products the first, with the full instruction."""
        return self.task(task_id).goal

    def make_plan(self, task_id: str) -> ShoppingPlan:
        """Return the best purchase."""
        return self.task(task_id).plan

    def start(self, task_id: str, rng: random.Random) -> str:
        """Show the search page; nothing is random."""
        self._task = self.task(task_id)
        return super().start(task_id, rng)
