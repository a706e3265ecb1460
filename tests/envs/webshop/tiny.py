"""A shop small enough to work out by hand, factories of goals and products for tests, and the places of the real data.

::

    0  LAMP000001  lamps   $9.98 to $12.98   color: red, coal grey   size: s, m, l      Find me bright lamps
    1  LAMP000002  lamps   $25.0             finish: blue, 228blue                      Find me dimmable, bright lamps
    2  MUG0000001  mugs    $985.0                                                       Find me safe mugs
    3  MUG0000002  mugs    $100.0            style: description, next >, plain          no instruction
    4  RUG0000001  rugs    $40.0             color: one, two   shade: two, three        Find me soft rugs
    5  RUG0000002  rugs    $7.5              size: none at all                          Find me soft rugs
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cairn.envs.webshop.catalogue import Catalogue, make_catalogue
from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.goals import NO_LIMIT, ShoppingGoal
from cairn.envs.webshop.pages import State
from cairn.envs.webshop.products import Product

Make = Callable[..., WebShopEnv]  # the type of the fixture `tiny_env`
_PRODUCT = Product(
    asin="X000000000",
    name="Plain Thing",
    description="",
    bullets=(),
    prices=(10.0,),
    options={},
    attributes=("DUMMY_ATTR",),
    category="garden",
    query="things",
    product_category="Home \u203a Things",
    image="",
    instruction=None,
    instruction_attributes=(),
)
_GOAL = ShoppingGoal(
    product=0,
    asin="X000000000",
    instruction="Find me a thing",
    attributes=("soft",),
    price_limit=NO_LIMIT,
    options={},
    name="Plain Thing",
    query="things",
    product_category="Home \u203a Things",
    weight=1.0,
)


def product(**fields: Any) -> Product:  # Any: fields of several types
    """Return a product that has these fields and is plain otherwise."""
    return Product(**{**{name: getattr(_PRODUCT, name) for name in Product.__slots__}, **fields})


def goal(**fields: Any) -> ShoppingGoal:  # Any: fields of several types
    """Return a goal that has these fields and is plain otherwise."""
    return ShoppingGoal(**{**{name: getattr(_GOAL, name) for name in ShoppingGoal.__slots__}, **fields})


LAMP, LAMP2, MUG, MUG2, RUG, RUG2 = PRODUCTS = (
    product(
        asin="LAMP000001", name="Acme Red Desk Lamp", description="A lamp for <b>desks</b>.",
        bullets=("Bright light", "Long cord"), prices=(9.98, 12.98),
        options={"color": ("red", "coal grey"), "size": ("s", "m", "l")}, attributes=("bright", "dimmable"),
        query="lamps", product_category="Home \u203a Lighting \u203a Lamps",
        instruction="Find me bright lamps", instruction_attributes=("bright",),
    ),
    product(
        asin="LAMP000002", name="Dim Floor Lamp", description="Stands.", bullets=("Dimmable", "Bright"), prices=(25.0,),
        options={"finish": ("blue", "228blue")}, attributes=("bright", "dimmable"), query="lamps",
        product_category="Home \u203a Lighting \u203a Lamps",
        instruction="Find me dimmable, bright lamps", instruction_attributes=("dimmable", "bright"),
    ),
    product(
        asin="MUG0000001", name="Mug", description="Holds tea.", bullets=("Dishwasher safe",), prices=(985.0,),
        attributes=("dishwasher safe",), category="grocery", query="mugs", product_category="Kitchen \u203a Mugs",
        instruction="Find me safe mugs", instruction_attributes=("dishwasher safe",),
    ),
    product(
        asin="MUG0000002", name="Other Mug", prices=(100.0,), options={"style": ("description", "next >", "plain")},
        category="grocery", query="mugs", product_category="Kitchen \u203a Mugs", instruction_attributes=("bright",),
    ),
    product(
        asin="RUG0000001", name="Soft Rug", prices=(40.0,), query="rugs", product_category="Home \u203a Rugs",
        options={"color": ("one", "two"), "shade": ("two", "three")},
        instruction="Find me soft rugs", instruction_attributes=("soft",),
    ),
    product(
        asin="RUG0000002", name="Soft Rug", prices=(7.5,), options={"size": ()}, query="rugs",
        product_category="Home \u203a Rugs", instruction="Find me soft rugs", instruction_attributes=("soft",),
    ),
)  # fmt: skip


def catalogue(folder: Path, *products: Product) -> Catalogue:
    """Return a catalogue of these products (default: the shop of the docstring), made in a new folder of `folder`."""
    return make_catalogue(folder / f"shop-{len(list(folder.iterdir()))}", lambda: products or PRODUCTS)


def at_item(item: int, **fields: Any) -> State:  # Any: fields of several types
    """Return a state on the page of one of the tiny shop's products."""
    return State(**{"page": "item", "keywords": ("lamp",), "results": tuple(range(6)), "item": item, **fields})


def task_with(env: WebShopEnv, **options: str) -> str:
    """Return the task whose goal asks for these options."""
    return next(task for task in env.tasks() if env.goal(task).options == options)


def start(env: WebShopEnv, *actions: str, task: str = "goal/0") -> tuple[str, dict[str, Any]]:  # Any: `info`
    """Begin a task and take actions that must not end it; return the last text and info."""
    text, info = env.reset(seed=0, options={"task": task})
    for action in actions:
        text, reward, terminated, _, info = env.step(action)
        assert (reward, terminated) == (0.0, False)
    return text, info


def short(text: str) -> str:
    """Return a name for a test of this text."""
    return ascii(text[:20])


def data_folder() -> Path:
    """Return the folder of the original's files; skip the test if it is missing."""
    folder = Path(os.environ.get("CAIRN_DATA", "nowhere")) / "webshop"
    if not (folder / "items_shuffle_1000.json.gz").is_file():
        pytest.skip(
            "needs the WebShop files: set CAIRN_DATA to the folder that holds webshop/items_shuffle_1000.json.gz"
        )
    return folder


def rows(name: str) -> list[Any]:  # Any: JSON
    """Return the rows of one of the reference files."""
    with gzip.open(data_folder() / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]
