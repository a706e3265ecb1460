"""What the families' environments share: the web shop with other tasks, under other names and another instruction."""

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
    """The web shop's settings; of its goals, those whose parts are known."""

    goals: Literal["synthetic"] = Field("synthetic", description="What tasks are made of.")


class Family(WebShopEnv, Generic[T]):
    """A web shop whose tasks are made of its goals. Subclasses say how, and what of the shop is otherwise."""

    Config = FamilyConfig
    config: FamilyConfig

    def make_tasks(self) -> Tasks[T]:
        """Return the family's tasks in this shop; all environments of a process share them."""
        raise NotImplementedError

    def setup(self) -> None:
        """Open the shop.

        Raises:
            CairnError: it makes no such task.
        """
        super().setup()
        self._made = self.make_tasks()
        self._made.require(self.config.split)

    @property
    def prefix(self) -> str:
        """The family's name."""
        return f"{self.meta.name.rpartition('/')[2]}/"

    def has_task(self, task_id: str) -> bool:
        """Return whether there is such a task, in whatever split."""
        return super().has_task(task_id) and self._made.has(self.place(task_id))

    def task(self, task_id: str) -> T:
        """Return a task."""
        return self._made.find(self.place(task_id))

    def goal(self, task_id: str) -> ShoppingGoal:
        """Return what a task asks for; of several things the first, with the whole instruction."""
        return self.task(task_id).goal

    def make_plan(self, task_id: str) -> ShoppingPlan:
        """Return a best purchase."""
        return self.task(task_id).plan

    def start(self, task_id: str, rng: random.Random) -> str:
        """Show the search page; nothing is left to chance."""
        self._task = self.task(task_id)
        return super().start(task_id, rng)
