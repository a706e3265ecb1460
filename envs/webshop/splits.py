"""Divides goals into training and held-out splits by the published protocols or by product.

``by-product`` (the default): no product on both sides; 80 % of the products train, 10 % valid, 10 % test.
``original``: goals 0-499 test, all others train.        ``baseline``: 0-499 test, 500-1499 valid, all others train.
``gigpo``: as original, but the goals are shuffled with the worker's own seed (`shuffle_seed`) instead of 233; one
worker's held-out goals are another worker's training goals, unless all workers use one seed.

Only by-product holds out products: in the others, goals of one product with other options fall on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from cairn.core.errors import ConfigError
from cairn.envs.webshop.goals import SHUFFLE_SEED, Goals
from cairn.envs.webshop.shop import Shop

Protocol = Literal["by-product", "original", "baseline", "gigpo"]
Split = Literal["train", "valid", "test", "all"]
Places = range | npt.NDArray[np.int32]
_TEST, _VALID = 500, 1500


def indices(shop: Shop, protocol: Protocol, split: Split, shuffle_seed: int) -> Places:
    """Return the indices of a split's goals in the shop's order.

    Raises:
        ConfigError: the protocol has no such split, or does not allow this seed.
    """
    count = len(shop.goals)
    if split == "all":
        return range(count)
    if protocol != "gigpo" and shuffle_seed != SHUFFLE_SEED:
        raise ConfigError(f"webshop: shuffle_seed={shuffle_seed} is splits='gigpo'; {protocol!r} is of {SHUFFLE_SEED}")
    if protocol == "by-product":
        return _by_product(shop.goals, split)
    if split == "valid" and protocol != "baseline":
        raise ConfigError(
            f"webshop: splits={protocol!r} has train and test; splits='baseline' and 'by-product' have valid"
        )
    last = _VALID if protocol == "baseline" else _TEST
    ranges = {"test": range(min(_TEST, count)), "valid": range(_TEST, min(_VALID, count)), "train": range(last, count)}
    return ranges[split]


class TaskIds(Sequence[str]):
    """Task ids of some goals, created on demand, since a large shop has millions."""

    def __init__(self, prefix: str, places: Places) -> None:
        self._prefix, self._places = prefix, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> TaskIds: ...
    def __getitem__(self, index: int | slice) -> str | TaskIds:
        """Return one id, or a slice as `TaskIds`."""
        if isinstance(index, slice):
            return TaskIds(self._prefix, self._places[index])
        return f"{self._prefix}{int(self._places[index])}"


def _by_product(goals: Goals, split: Split) -> npt.NDArray[np.int32]:
    """Return the goals whose product is in the split, determined by a key of its asin."""
    tenth = goals.catalogue.tenth[goals.products]
    of_split = {"train": tenth >= 2, "valid": tenth == 1, "test": tenth == 0}[split]
    return np.flatnonzero(of_split).astype(np.int32)
