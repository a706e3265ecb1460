"""The shopping goals of a catalogue: the original's goals, in the original's order.

Synthetic goals: every combination of the options of every product with an instruction. Human goals: one per human
instruction. Prices of products with a range, then price limits of goals, are drawn from one generator with seed
`price_seed`, in the order of the data; then the goals are shuffled with `shuffle_seed`. Goals are built on demand.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from cairn.core.errors import CairnError
from cairn.envs.webshop.bm25 import mapped
from cairn.envs.webshop.catalogue import Catalogue, build_folder
from cairn.envs.webshop.products import Product

PRICE_SEED, SHUFFLE_SEED = 0, 233
NO_LIMIT = 1_000_000.0
Human = Mapping[str, Sequence[Mapping[str, Any]]]  # asin -> instructions; Any: JSON of the original's file
_LIMITS = [10.0 * i for i in range(1, 100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShoppingGoal:
    """One product to buy, with options and a price limit."""

    product: int  # number in the catalogue
    asin: str
    instruction: str
    attributes: tuple[str, ...]
    price_limit: float  # NO_LIMIT: the instruction states no limit
    options: Mapping[str, str] | tuple[str, ...]  # synthetic: name -> value; human: values alone
    name: str
    query: str
    product_category: str
    weight: float  # relative frequency in the original's sampling


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Prices of N products, and G goals in their order."""

    prices: npt.NDArray[np.float64]  # [N] the shop's prices
    products: npt.NDArray[np.int32]  # [G] numbers of the goals' products
    parts: npt.NDArray[np.int32]  # [G] synthetic: index of the combination of options; human: index of the instruction
    limits: npt.NDArray[np.float64]  # [G] price limits


class Goals(Sequence[ShoppingGoal]):
    """All goals of a catalogue, and its prices.

    Synthetic goals are drawn once and stored in the catalogue's folder.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        human: Human | None = None,
        *,
        price_seed: int = PRICE_SEED,
        shuffle_seed: int = SHUFFLE_SEED,
    ) -> None:
        """Draw prices and order, or map the stored ones.

        Args:
            catalogue: the products.
            human: instructions by asin, for human goals instead of synthetic ones.
            price_seed: seed of prices and price limits.
            shuffle_seed: seed of the order.
        """
        self.catalogue = catalogue
        self._human: list[Mapping[str, Any]] = []
        if human is None:
            columns = _kept(catalogue, price_seed, shuffle_seed)
        else:
            self._human = [row for _, row in _human_rows(catalogue, human)]
            columns = _draw(catalogue, human, price_seed, shuffle_seed)
        self.prices, self.products = columns.prices, columns.products
        self._parts, self._limits = columns.parts, columns.limits

    def __len__(self) -> int:
        return len(self.products)

    @overload
    def __getitem__(self, index: int) -> ShoppingGoal: ...
    @overload
    def __getitem__(self, index: slice) -> list[ShoppingGoal]: ...
    def __getitem__(self, index: int | slice) -> ShoppingGoal | list[ShoppingGoal]:
        """Return a newly built goal."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number, part, limit = int(self.products[index]), int(self._parts[index]), float(self._limits[index])
        product = self.catalogue[number]
        options: Mapping[str, str] | tuple[str, ...]
        if self._human:
            row = self._human[part]
            text, options = row["instruction"].strip("."), tuple(row["instruction_options"])
            attributes, weight = tuple(row["instruction_attributes"]), 1.0
        else:
            options = chosen = combination(product, part)
            text, attributes = f"{product.instruction}{_option_text(chosen)}", product.instruction_attributes
            weight = float(self.catalogue.goal_weights[number])
        limit_text = "" if limit == NO_LIMIT else f", and price lower than {limit:.2f} dollars"
        return ShoppingGoal(
            product=number, asin=product.asin, instruction=text + limit_text, attributes=attributes, price_limit=limit,
            options=options, name=product.name, query=product.query, product_category=product.product_category,
            weight=weight,
        )  # fmt: skip


def combination(product: Product, number: int) -> dict[str, str]:
    """Return the options of one of a product's goals.

    The names are sorted; the last name's values vary fastest.
    """
    out = {}
    for name in sorted(product.options, reverse=True):
        number, at = divmod(number, len(product.options[name]))
        out[name] = product.options[name][at]
    return dict(reversed(out.items()))


def _option_text(options: Mapping[str, str]) -> str:
    text = ", and ".join(f"{name}: {value}" for name, value in options.items())
    return f" with {text}" if text else ""


def _draw_prices(catalogue: Catalogue, rng: random.Random) -> npt.NDArray[np.float64]:
    low, high = catalogue.prices[:, 0], catalogue.prices[:, 1]
    prices = np.array(low)
    for number in np.flatnonzero(~np.isnan(high)):
        prices[number] = rng.uniform(float(low[number]), float(high[number]))
    return prices


def _draw_limit(price: float, rng: random.Random) -> float:
    above = list(itertools.islice((limit for limit in _LIMITS if limit > price), 4))
    return max(rng.sample(above, 2)) if len(above) >= 2 else NO_LIMIT


def _draw(catalogue: Catalogue, human: Human | None, price_seed: int, shuffle_seed: int) -> Columns:
    """Draw prices, then price limits, then the order."""
    rng = random.Random(price_seed)
    rng.getrandbits(32)  # the reference implementation draws one word from the generator before the prices
    prices = _draw_prices(catalogue, rng)
    if human is None:
        with_goals = np.flatnonzero(catalogue.num_goals >= 0)
        sizes = catalogue.num_goals[with_goals]
        limit = np.array([_draw_limit(float(prices[number]), rng) for number in with_goals], np.float64)
        first = np.repeat(np.cumsum(sizes) - sizes, sizes)
        products, limits = np.repeat(with_goals, sizes), np.repeat(limit, sizes)
        parts = np.arange(len(products)) - first
    else:
        products = np.array([number for number, _ in _human_rows(catalogue, human)], np.int64)
        limits = np.array([_draw_limit(float(prices[number]), rng) for number in products], np.float64)
        parts = np.arange(len(products))
    order = list(range(len(products)))
    random.Random(shuffle_seed).shuffle(order)
    return Columns(
        prices=prices, products=products[order].astype(np.int32), parts=parts[order].astype(np.int32),
        limits=limits[order],
    )  # fmt: skip


def _kept(catalogue: Catalogue, price_seed: int, shuffle_seed: int) -> Columns:
    """Return synthetic goals, mapped from the catalogue's folder.

    They stay in memory if the folder cannot be written.
    """
    folder = catalogue.folder / f"goals-{price_seed}-{shuffle_seed}"
    try:
        build_folder(folder, lambda at: _save(at, _draw(catalogue, None, price_seed, shuffle_seed)))
    except OSError:
        return _draw(catalogue, None, price_seed, shuffle_seed)
    try:
        return Columns(**{field.name: mapped(folder / f"{field.name}.npy") for field in fields(Columns)})
    except (OSError, EOFError, ValueError) as error:
        raise CairnError(f"Cannot open the goals {str(folder)!r}: {error}. Remove it; they are drawn again.") from None


def _human_rows(catalogue: Catalogue, human: Human) -> list[tuple[int, Mapping[str, Any]]]:  # Any: JSON
    """Return the instructions with at least one attribute and their products, in product order."""
    known = sorted((number, asin) for asin in human if (number := catalogue.find(asin)) is not None)
    return [(number, row) for number, asin in known for row in human[asin] if row["instruction_attributes"]]


def _save(folder: Path, columns: Columns) -> None:
    for field in fields(columns):
        np.save(folder / f"{field.name}.npy", getattr(columns, field.name))
