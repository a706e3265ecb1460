"""Goals of the tiny shop worked out by hand, and all of the original's."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cairn.core.errors import CairnError
from cairn.envs.webshop.catalogue import Catalogue
from cairn.envs.webshop.goals import NO_LIMIT, PRICE_SEED, Goals, combination
from cairn.envs.webshop.shop import open_shop
from tests.envs.webshop import tiny

LIMITS = {  # the four limits above a price of which two are drawn
    9.98: (10.0, 20.0, 30.0, 40.0),
    12.98: (20.0, 30.0, 40.0, 50.0),
    25.0: (30.0, 40.0, 50.0, 60.0),
    40.0: (50.0, 60.0, 70.0, 80.0),  # a limit that is the price is not above it
    965.0: (970.0, 980.0, 990.0),
    979.99: (980.0, 990.0),
}


@pytest.fixture
def tiny_shop(tmp_path: Path) -> Catalogue:
    return tiny.catalogue(tmp_path)


def test_combinations_run_over_sorted_names_the_last_fastest() -> None:
    assert [combination(tiny.LAMP, number) for number in range(6)] == [
        {"color": color, "size": size} for color in ("red", "coal grey") for size in ("s", "m", "l")
    ]
    mixed = tiny.product(options={"size": ("s", "m"), "color": ("red",)})  # the page's order is another
    assert [list(combination(mixed, number).items()) for number in range(2)] == [
        [("color", "red"), ("size", size)] for size in ("s", "m")
    ]
    assert combination(tiny.MUG, 0) == {}


def test_the_tiny_shops_goals_are_those_worked_out_by_hand(tiny_shop: Catalogue) -> None:
    """Prices and then limits are drawn from one generator, a word of which is gone; then the goals are shuffled."""
    rng = random.Random(0)
    rng.getrandbits(32)
    price = rng.uniform(9.98, 12.98)
    assert Goals(tiny_shop).prices.tolist() == [price, 25.0, 985.0, 100.0, 40.0, 7.5]
    limits = [max(rng.sample(LIMITS[of], 2)) for of in (9.98 if price < 10 else 12.98, 25.0, 40.0)]
    expected = [(0, limits[0])] * 6 + [(1, limits[1])] * 2 + [(2, NO_LIMIT)] + [(4, limits[2])] * 4
    random.Random(233).shuffle(expected)
    goals = Goals(tiny_shop)
    assert [(goal.product, goal.price_limit) for goal in goals] == expected
    assert goals.products.tolist() == [product for product, _ in expected]
    assert len(goals) == 13


def test_a_product_whose_option_has_no_values_draws_a_limit_for_no_goal(tmp_path: Path) -> None:
    rng = random.Random(0)
    rng.getrandbits(32)
    rng.sample(LIMITS[9.98], 2)  # above 7.5
    (limit,) = {goal.price_limit for goal in Goals(tiny.catalogue(tmp_path, tiny.RUG2, tiny.RUG))}
    assert limit == max(rng.sample(LIMITS[40.0], 2))


def test_a_goal_has_all_fields_that_the_reward_uses(tiny_shop: Catalogue) -> None:
    goals = Goals(tiny_shop)
    lamp = next(goal for goal in goals if goal.options == {"color": "coal grey", "size": "m"})
    assert lamp.instruction == (
        f"Find me bright lamps with color: coal grey, and size: m, and price lower than {lamp.price_limit:.2f} dollars"
    )
    assert (lamp.asin, lamp.name, lamp.query) == ("LAMP000001", "Acme Red Desk Lamp", "lamps")
    assert (lamp.attributes, lamp.weight) == (("bright",), 1 / 8)
    assert lamp.product_category == "Home \u203a Lighting \u203a Lamps"
    assert list(lamp.options) == ["color", "size"]
    mug = next(goal for goal in goals if goal.product == 2)
    assert (mug.instruction, mug.price_limit, mug.options) == ("Find me safe mugs", NO_LIMIT, {})


@pytest.mark.parametrize("price", [9.98, 12.98, 25.0, 40.0, 965.0, 979.99, 980.0, 989.0, 990.0, 5000.0])
def test_limits_are_the_larger_of_two_of_the_next_four_tens(tmp_path: Path, price: float) -> None:
    shop = tiny.catalogue(tmp_path, tiny.product(prices=(price,), instruction="Find me it"))
    drawn = Counter(Goals(shop, price_seed=seed)[0].price_limit for seed in range(40))
    if price not in LIMITS:  # fewer than two limits are left
        assert drawn == {NO_LIMIT: 40}
        assert Goals(shop)[0].instruction == "Find me it"
    else:
        assert set(drawn) == set(LIMITS[price][1:])  # of two the larger: never the least
        assert Goals(shop)[0].instruction.startswith("Find me it, and price lower than ")


def test_seeds_draw_prices_and_order_apart(tiny_shop: Catalogue) -> None:
    first, again = Goals(tiny_shop), Goals(tiny_shop, price_seed=PRICE_SEED, shuffle_seed=233)
    assert list(first) == list(again)
    other_order = Goals(tiny_shop, shuffle_seed=1)
    assert other_order.prices.tolist() == first.prices.tolist()
    assert list(other_order) != list(first)
    assert {goal.instruction for goal in other_order} == {goal.instruction for goal in first}
    other_price = Goals(tiny_shop, price_seed=1)
    assert other_price.prices[0] != first.prices[0]
    assert other_price.products.tolist() == first.products.tolist()


def test_goals_are_a_sequence(tiny_shop: Catalogue) -> None:
    goals = Goals(tiny_shop)
    assert goals[-1] == goals[12]
    assert goals[2:5] == [goals[2], goals[3], goals[4]]
    assert goals[20:] == []
    with pytest.raises(IndexError):
        goals[13]


def test_the_process_random_state_is_left_alone(tiny_shop: Catalogue) -> None:
    random.seed(7)
    before = random.getstate()
    Goals(tiny_shop)
    assert random.getstate() == before


@pytest.mark.parametrize("fault", ["removed", "empty", "cut"])
def test_goals_that_are_kept_and_damaged_are_refused(tmp_path: Path, fault: str) -> None:
    shop = tiny.catalogue(tmp_path)
    first = list(Goals(shop))
    assert list(Goals(shop)) == first  # as kept
    path = shop.folder / "goals-0-233" / "limits.npy"
    whole = path.read_bytes()
    path.unlink()
    if fault != "removed":
        path.write_bytes(b"" if fault == "empty" else whole[:-1])
    with pytest.raises(CairnError, match=r"Cannot open the goals .*goals-0-233'.*Remove it"):
        Goals(shop)


def test_goals_that_cannot_be_kept_are_drawn_in_memory(tmp_path: Path) -> None:
    shop = tiny.catalogue(tmp_path)
    kept = list(Goals(shop))
    shutil.rmtree(shop.folder / "goals-0-233")
    (shop.folder / "goals-0-233").write_text("in the way")  # as a folder that is not ours to write to
    assert list(Goals(shop)) == kept
    assert (shop.folder / "goals-0-233").read_text() == "in the way"


HUMAN: dict[str, list[dict[str, Any]]] = {  # Any: JSON
    "RUG0000001": [
        {
            "instruction": "i want a soft rug.", "instruction_attributes": ["soft"],
            "instruction_options": ["two", "three"],
        },
        {"instruction": "no attributes", "instruction_attributes": [], "instruction_options": []},
    ],
    "UNKNOWN001": [{"instruction": "x", "instruction_attributes": ["soft"], "instruction_options": []}],
    "LAMP000001": [{"instruction": "a lamp..", "instruction_attributes": ["bright"], "instruction_options": []}],
    "MUG0000001": [{"instruction": "a mug", "instruction_attributes": ["safe"], "instruction_options": []}],
}  # fmt: skip


def test_each_human_instruction_is_one_goal_in_the_order_of_the_data(tiny_shop: Catalogue) -> None:
    rng = random.Random(0)
    rng.getrandbits(32)
    price = rng.uniform(9.98, 12.98)
    limits = [max(rng.sample(LIMITS[of], 2)) for of in (9.98 if price < 10 else 12.98, 40.0)]
    expected = [
        (0, f"a lamp, and price lower than {limits[0]:.2f} dollars", ("bright",), (), limits[0]),
        (2, "a mug", ("safe",), (), NO_LIMIT),
        (4, f"i want a soft rug, and price lower than {limits[1]:.2f} dollars", ("soft",), ("two", "three"), limits[1]),
    ]
    random.Random(233).shuffle(expected)
    goals = Goals(tiny_shop, HUMAN)
    assert [(g.product, g.instruction, g.attributes, g.options, g.price_limit) for g in goals] == expected
    assert {goal.weight for goal in goals} == {1.0}
    assert goals.prices[0] == price


def test_a_shop_may_have_no_goals(tmp_path: Path, tiny_shop: Catalogue) -> None:
    assert list(Goals(tiny_shop, {})) == []
    assert list(Goals(tiny.catalogue(tmp_path, tiny.MUG2))) == []


def test_the_originals_6910_goals_and_1000_prices_are_reproduced() -> None:
    with gzip.open(tiny.data_folder() / "ref_goals_6910_seed0_shuffle233.json.gz", "rt", encoding="utf-8") as file:
        reference = json.load(file)
    shop = open_shop("webshop-1000", "synthetic", 0, 233, 0, 0)
    prices = {shop.catalogue.asin(number): price for number, price in enumerate(shop.goals.prices.tolist())}
    assert prices == reference["prices"]
    assert len(prices) == 1000
    assert len(shop.goals) == len(reference["goals"]) == 6910
    for goal, row in zip(shop.goals, reference["goals"], strict=True):
        assert isinstance(goal.options, dict)
        assert {
            "asin": goal.asin, "instruction_text": goal.instruction, "attributes": list(goal.attributes),
            "price_upper": goal.price_limit, "goal_options": goal.options, "weight": goal.weight, "name": goal.name,
            "query": goal.query, "product_category": goal.product_category,
            "category": shop.catalogue[goal.product].category,
        } == row  # fmt: skip
        assert list(goal.options) == list(row["goal_options"])


def test_the_originals_13_human_instructions_are_goals() -> None:
    with gzip.open(tiny.data_folder() / "items_human_ins_overlap13.json.gz", "rt", encoding="utf-8") as file:
        human = json.load(file)
    goals = open_shop("webshop-1000", "human", 0, 233, 0, 0).goals
    rows = [row for rows in human.values() for row in rows if row["instruction_attributes"]]
    expected = [(row["asin"], row["instruction"].strip(".")) for row in rows]
    found = [(goal.asin, goal.instruction.split(", and price lower than ")[0]) for goal in goals]
    assert Counter(found) == Counter(expected)
    assert len(found) >= 13
