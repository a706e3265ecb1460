"""A family's tasks, each made of a goal of the shop when it is first asked for, and kept for all of a process.

Task `i` is made of goal `i`. Where nothing can be made of that goal, one of the same split takes its place, drawn for
the task: every goal's number is a task, and now and then two tasks are made of one goal. All goals that a task is made
of are of its own split, whichever split is configured; so what is held out stays held out. What is drawn follows from
the family and the task's number alone.
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
_DRAWS = 100  # goals tried at random before the split's spare task is taken
_KEPT = 1024  # tasks


@dataclass(frozen=True, kw_only=True)
class ShopTask:
    """What every family's tasks have."""

    goal: ShoppingGoal  # what is asked for, with the task's instruction; of several things the first
    plan: ShoppingPlan  # a best purchase of it


T = TypeVar("T", bound=ShopTask)


@dataclass(frozen=True, eq=False)
class GoalPool:
    """The goals of one split."""

    shop: Shop
    nouns: Tagger
    places: Places  # of the goals, ascending

    def draw(self, rng: random.Random) -> int:
        """Return the place of any goal."""
        return int(self.places[rng.randrange(len(self.places))])

    def has(self, place: int) -> bool:
        """Return whether a goal is of this split."""
        at = int(np.searchsorted(self._places, place))
        return at < len(self._places) and int(self._places[at]) == place

    def has_product(self, number: int) -> bool:
        """Return whether a product is of this split; where splits are not by product, every one is of each."""
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
        """Make no task yet.

        Args:
            family: its id.
            make: returns the task of a goal; None where none can be made of it.
            shop: where it takes place.
            splits: how goals are divided.
            nouns: which words of names are nouns.
        """
        self._family, self._make, self._shop = family, make, shop
        self._pools = {
            split: GoalPool(shop, nouns, indices(shop, splits, split, SHUFFLE_SEED)) for split in _SPLITS[splits]
        }
        self.find = cached_method(self._find, _KEPT)
        self._spare = cached_method(self._find_spare, len(self._pools))

    def require(self, split: Split) -> None:
        """Make sure that every goal of a split has a task.

        Raises:
            CairnError: none has.
        """
        for each, pool in self._pools.items():
            is_asked = split == each or (split == "all" and len(pool.places) > 0)
            if is_asked and self._spare(pool) is None:
                raise CairnError(
                    f"{self._family}: of the {len(pool.places)} goals of the split {each!r}, none makes a task. "
                    "Take a larger shop (num_products) or another split."
                )

    def has(self, place: int) -> bool:
        """Return whether there is a task of this number."""
        return self._spare(self._pool_of(place)) is not None

    def _find(self, place: int) -> T:
        """Return the task of a number that `has` knows."""
        pool = self._pool_of(place)
        rng = python_generator(self._family, "instead of", place)
        drawn = (pool.draw(rng) for _ in range(_DRAWS))
        for candidate in itertools.chain([place], drawn):
            if (task := self._try(pool, candidate, place)) is not None:
                return task
        spare = self._spare(pool)
        assert spare is not None  # else there is no such task
        return spare

    def _find_spare(self, pool: GoalPool) -> T | None:
        """Return the first task that can be made of any goal of a split; of each product one goal is tried."""
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
