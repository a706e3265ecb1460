"""A family's tasks, each derived from a goal on first use and cached for the process.

Task `i` is derived from goal `i`. If that goal yields no task, another goal of the same split replaces it, drawn for
the task: every goal's number is a task, and some goals yield two tasks. A task uses only goals of its own split, for
every configured split, so held-out goals stay held out. The draws depend only on the family and the task's number.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from cairn.core.caching import cached_method
from cairn.core.errors import CairnError
from cairn.core.seeding import python_generator
from cairn.envs.webshop.goals import SHUFFLE_SEED, ShoppingGoal
from cairn.envs.webshop.nouns import Tagger
from cairn.envs.webshop.oracle import ShoppingPlan
from cairn.envs.webshop.shop import Shop
from cairn.envs.webshop.splits import Places, Protocol, Split, indices

_SPLITS: dict[Protocol, tuple[Split, ...]] = {
    "by-product": ("train", "valid", "test"),
    "baseline": ("train", "valid", "test"),
    "original": ("train", "test"),
    "gigpo": ("train", "test"),
}
_DRAWS = 100  # random goals to try before the split's spare task is used
_KEPT = 1024  # tasks


@dataclass(frozen=True, kw_only=True)
class ShopTask:
    """Fields of every family's tasks."""

    goal: ShoppingGoal  # the goal with the task's instruction; for several products the first
    plan: ShoppingPlan  # a best purchase


T = TypeVar("T", bound=ShopTask)


@dataclass(frozen=True, eq=False)
class GoalPool:
    """The goals of one split."""

    shop: Shop
    nouns: Tagger
    places: Places  # indices of the goals, ascending

    def draw(self, rng: random.Random) -> int:
        """Return the index of a random goal."""
        return int(self.places[rng.randrange(len(self.places))])

    def has(self, place: int) -> bool:
        """Return whether a goal is in this split."""
        at = int(np.searchsorted(self._places, place))
        return at < len(self._places) and int(self._places[at]) == place

    def has_product(self, number: int) -> bool:
        """Return whether a product is in this split; true for all if splits are not by product."""
        return int(self.shop.catalogue.tenth[number]) in self._tenths

    @cached_property
    def _places(self) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return np.asarray(self.places, np.int32)

    @cached_property
    def _tenths(self) -> frozenset[int]:
        products = self.shop.goals.products[self._places]
        return frozenset(np.unique(self.shop.catalogue.tenth[products]).tolist())


class Tasks(Generic[T]):
    """The tasks of one family in one shop."""

    def __init__(
        self,
        family: str,
        make: Callable[[GoalPool, ShoppingGoal, random.Random], T | None],
        shop: Shop,
        splits: Protocol,
        nouns: Tagger,
    ) -> None:
        """Create no task yet.

        Args:
            family: its id.
            make: returns the task of a goal, or None if the goal yields none.
            shop: the shop.
            splits: the split protocol.
            nouns: the noun tagger.
        """
        self._family, self._make, self._shop = family, make, shop
        self._pools = {
            split: GoalPool(shop, nouns, indices(shop, splits, split, SHUFFLE_SEED)) for split in _SPLITS[splits]
        }
        self.find = cached_method(self._find, _KEPT)
        self._spare = cached_method(self._find_spare, len(self._pools))

    def require(self, split: Split) -> None:
        """Check that every goal of a split has a task.

        Raises:
            CairnError: no goal of the split yields a task.
        """
        for each, pool in self._pools.items():
            is_asked = split == each or (split == "all" and len(pool.places) > 0)
            if is_asked and self._spare(pool) is None:
                raise CairnError(
                    f"{self._family}: of the {len(pool.places)} goals of the split {each!r}, none makes a task. "
                    "Take a larger shop (num_products) or another split."
                )

    def has(self, place: int) -> bool:
        """Return whether the task of this number exists."""
        return self._spare(self._pool_of(place)) is not None

    def _find(self, place: int) -> T:
        """Return the task of a number; `has` must be true for it."""
        pool = self._pool_of(place)
        rng = python_generator(self._family, "instead of", place)
        drawn = (pool.draw(rng) for _ in range(_DRAWS))
        for candidate in itertools.chain([place], drawn):
            if (task := self._try(pool, candidate, place)) is not None:
                return task
        spare = self._spare(pool)
        assert spare is not None  # otherwise `has` is false
        return spare

    def _find_spare(self, pool: GoalPool) -> T | None:
        """Return the first task of a split's goals; one goal of each product is tried."""
        tried = set()
        for place in pool.places:
            product = int(self._shop.goals.products[place])
            if product not in tried and (task := self._try(pool, int(place), -1)) is not None:
                return task
            tried.add(product)
        return None

    def _try(self, pool: GoalPool, candidate: int, place: int) -> T | None:
        rng = python_generator(self._family, place, candidate)
        return self._make(pool, self._shop.goals[candidate], rng)

    def _pool_of(self, place: int) -> GoalPool:
        return next(pool for pool in self._pools.values() if pool.has(place))
