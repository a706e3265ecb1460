"""A shop of six products to work tasks of the families out by hand, and environments of it that play a given task.

::

    0  TEA0000001  teas  $4.0            organic, loose leaf   size: small, large   Find me organic teas with loose leaf
    1  TEA0000002  teas  $3.0            organic, loose leaf   size: small, large   Find me organic teas with loose leaf
    2  TEA0000003  teas  $2.5            organic               size: small, large   Find me organic teas
    3  TEA0000004  teas  $9.0            organic, loose leaf   size: small
    4  MUG0000001  mugs  $1.25           these and hand made   size: small          Find me hand made mugs
    5  POT0000001  pots  $10.0 to $20.0  cast iron                                  Find me cast iron pots
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from cairn.envs.webshop import env as webshop
from cairn.envs.webshop.catalogue import make_catalogue
from cairn.envs.webshop.goals import NO_LIMIT, Goals, ShoppingGoal
from cairn.envs.webshop.products import Product
from cairn.envs.webshop.shop import Shop
from cairn.envs.webshop.variants._family import Family
from cairn.envs.webshop.variants._tasks import ShopTask
from tests.envs.webshop import tiny

F = TypeVar("F", bound=Family[Any])  # Any: any type of task
Play = Callable[..., tuple[str, float, dict[str, Any]]]  # Any: `info`
BOTH, SIZES = ("organic", "loose leaf"), ("small", "large")


def _tea(number: int, name: str, price: float, attributes: tuple[str, ...], sizes: tuple[str, ...] = SIZES) -> Product:
    loose = " with loose leaf" if "loose leaf" in attributes else ""
    return tiny.product(
        asin=f"TEA000000{number}", name=name, prices=(price,), attributes=attributes, options={"size": sizes},
        category="grocery", query="teas", product_category="Food \u203a Teas",
        instruction=None if number == 4 else f"Find me organic teas{loose}", instruction_attributes=attributes,
    )  # fmt: skip


PRODUCTS = (
    _tea(1, "Green Tea Loose", 4.0, BOTH),
    _tea(2, "Black Tea Loose", 3.0, BOTH),
    _tea(3, "White Tea Bags", 2.5, ("organic",)),
    _tea(4, "Mint Tea Loose", 9.0, BOTH, ("small",)),
    tiny.product(
        asin="MUG0000001", name="Tea Mug", prices=(1.25,), attributes=(*BOTH, "hand made"), query="mugs",
        options={"size": ("small",)}, product_category="Home \u203a Mugs", instruction="Find me hand made mugs",
        instruction_attributes=("hand made",),
    ),
    tiny.product(
        asin="POT0000001", name="Iron Pot", prices=(10.0, 20.0), attributes=("cast iron",), query="pots",
        product_category="Home \u203a Pots", instruction="Find me cast iron pots",
        instruction_attributes=("cast iron",),
    ),
)  # fmt: skip


def open_shop(folder: Path, *products: Product) -> Shop:
    """Return a shop of these products (default: the teahouse), made in a new folder of `folder`."""
    catalogue = make_catalogue(folder / f"shop-{len(list(folder.iterdir()))}", lambda: products or PRODUCTS)
    return Shop(catalogue, Goals(catalogue))


def env_of(
    kind: type[F], shop: Shop, monkeypatch: pytest.MonkeyPatch, task: ShopTask | None = None, **config: Any
) -> F:
    """Return an environment of a shop; all its tasks are `task`, where one is given.

    Its goals are all of one split.
    """
    monkeypatch.setattr(webshop, "open_shop", lambda *_: shop)
    if task is not None:
        monkeypatch.setattr(kind, "make_tasks", lambda _: _Only(task))
    return kind(splits="original", split="test", **config)


class _Only:
    """Has one task, whichever is asked for."""

    def __init__(self, task: ShopTask) -> None:
        self._task = task

    def require(self, split: str) -> None:
        """Nothing is missing."""

    def has(self, place: int) -> bool:
        return True

    def find(self, place: int) -> ShopTask:
        return self._task


def goal(
    shop: Shop, number: int, instruction: str = "Buy it", **fields: Any
) -> ShoppingGoal:  # Any: fields of several types
    """Return a goal that asks for a product of the shop, for its instruction's attributes unless `fields` say other."""
    product = shop.catalogue[number]
    return tiny.goal(
        **{
            "product": number, "asin": product.asin, "name": product.name, "query": product.query,
            "product_category": product.product_category, "instruction": instruction, "price_limit": NO_LIMIT,
            "attributes": product.instruction_attributes, **fields,
        }
    )  # fmt: skip


def play(env: Family[Any], *actions: str) -> tuple[str, float, dict[str, Any]]:  # Any: any type of task; `info`
    """Begin the first task and do this; return the last text, the last reward and `info`."""
    text, info = env.reset(seed=0, options={"task": env.tasks()[0]})
    reward = 0.0
    for action in actions:
        text, reward, _, _, info = env.step(action)
    return text, reward, info


def buy(asin: str, *options: str, button: str = "buy now") -> tuple[str, ...]:
    """Return the actions that find a product of the teahouse and buy it."""
    return ("search[tea mug pot]", f"click[{asin}]", *(f"click[{option}]" for option in options), f"click[{button}]")
