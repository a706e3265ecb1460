"""The buyer: its purchase, and that it gets there from anywhere by clicks and searches alone."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from cairn.envs.webshop import oracle, rules
from cairn.envs.webshop.catalogue import Catalogue
from cairn.envs.webshop.goals import Goals, ShoppingGoal
from cairn.envs.webshop.nouns import stub
from cairn.envs.webshop.oracle import ShoppingPlan, best_purchase, next_action, searches
from cairn.envs.webshop.pages import State, clickables, pieces
from cairn.envs.webshop.products import Product
from cairn.envs.webshop.reward import score
from cairn.envs.webshop.shop import Shop, open_shop
from tests.envs.webshop import tiny
from tests.envs.webshop.tiny import at_item


def shop_of(folder: Path, *products: Product) -> Shop:
    catalogue = tiny.catalogue(folder, *products)
    return Shop(catalogue, Goals(catalogue))


def goal_for(shop: Shop, **options: str) -> ShoppingGoal:
    return next(goal for goal in shop.goals if goal.options == options)


def walk(plan: ShoppingPlan, state: State, catalogue: Catalogue, limit: int = 15) -> tuple[State, list[str]]:
    """Do the buyer's actions until it buys; return the final state and the actions."""
    said: list[str] = []
    for _ in range(limit):
        action = next_action(plan, state, catalogue)
        said.append(action)
        name, argument = rules.parse(action)
        assert argument is not None
        if action == "click[buy now]":
            return state, said
        if name == "search":
            state = rules.search(state, catalogue, argument.lower(), random.Random(0))
        else:
            state = rules.click(state, catalogue, argument, clickables(pieces(state, catalogue, "")))
    raise AssertionError(f"bought nothing: {said}")


def test_it_buys_the_requested_product_when_that_has_the_highest_reward(tmp_path: Path) -> None:
    shop = shop_of(tmp_path)
    for goal in shop.goals:
        assert isinstance(goal.options, Mapping)
        if goal.options != {"finish": "228blue"} and goal.options.get("color") != "two":
            assert best_purchase(shop, goal, stub) == ShoppingPlan(
                product=goal.product, options=goal.options, reward=1.0
            )


def test_a_choice_that_meets_nothing_is_not_made(tmp_path: Path) -> None:
    """228blue does not meet itself, nor does any other product's option: attributes and price, of 2 + 1 + 1."""
    plan = best_purchase(shop := shop_of(tmp_path), goal_for(shop, finish="228blue"), stub)
    assert plan == ShoppingPlan(
        product=1, options={"finish": "228blue"}, reward=3 / 4
    )  # 228blue, the requested value, meets nothing


def test_another_product_is_bought_if_its_reward_is_higher(tmp_path: Path) -> None:
    """Its value finish is in ('finish', '228blue'), all words of it; its name has two of three nouns."""
    other = tiny.product(
        asin="OTHER00001", name="Dim Floor", query="lamps", prices=(20.0,), attributes=("bright", "dimmable"),
        options={"size": ("s",), "kind": ("matte", "finish")},
    )  # fmt: skip
    shop = shop_of(tmp_path, tiny.LAMP2, tiny.MUG, other)
    plan = best_purchase(shop, goal_for(shop, finish="228blue"), stub)
    assert plan == ShoppingPlan(product=2, options={"kind": "finish"}, reward=1.0)


def test_small_shops_are_looked_through_in_full() -> None:
    assert oracle.EXHAUSTIVE >= 1000  # the original's small set is one


def test_the_first_of_option_values_with_equal_reward_is_chosen(tmp_path: Path) -> None:
    shop = shop_of(tmp_path, tiny.product(options={"color": ("plain", "sky blue", "navy blue")}, attributes=("soft",)))
    plan = best_purchase(shop, tiny.goal(options=("blue",)), stub)
    assert plan == ShoppingPlan(product=0, options={"color": "sky blue"}, reward=1.0)


def test_large_shops_are_looked_through_by_searching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    near = tiny.product(
        asin="NEAR000001", name="Floor Lamp", query="lamps", prices=(20.0,), attributes=("bright", "dimmable"),
        options={"kind": ("finish",)},
    )  # fmt: skip
    far = tiny.product(**{**near.to_json(), "asin": "FAR0000001", "name": "Dim Floor", "description": "x"})
    for products, reward in (((tiny.LAMP2, far), 3 / 4), ((tiny.LAMP2, near), 1.0)):
        shop = shop_of(tmp_path, *products)
        goal = goal_for(shop, finish="228blue")
        monkeypatch.setattr(Catalogue, "search", lambda self, words: (1,) if self[1].name == "Floor Lamp" else ())
        monkeypatch.setattr(oracle, "EXHAUSTIVE", 1000)
        assert best_purchase(shop, goal, stub).reward == 1.0
        monkeypatch.setattr(oracle, "EXHAUSTIVE", 1)
        assert best_purchase(shop, goal, stub).reward == reward
        monkeypatch.setattr(oracle, "EXHAUSTIVE", 2)
        assert best_purchase(shop, goal, stub).reward == 1.0


def test_of_a_value_that_two_options_have_only_the_last_options_can_be_chosen(tmp_path: Path) -> None:
    """Asked for color two and shade three; clicking two chooses the shade, and clicking three replaces the shade."""
    shop = shop_of(tmp_path)
    plan = best_purchase(shop, goal_for(shop, color="two", shade="three"), stub)
    assert plan == ShoppingPlan(product=4, options={"shade": "three"}, reward=3 / 4)
    assert walk(plan, State(), shop.catalogue)[0].options == {"shade": "three"}


@pytest.mark.parametrize("value", ["description", "buy now", "size [us 8]", "two\nlines", ""])
def test_a_value_that_cannot_be_chosen_is_not_planned(tmp_path: Path, value: str) -> None:
    product = tiny.product(
        options={"style": (value,)}, attributes=("soft",), instruction="x", instruction_attributes=("soft",)
    )
    shop = shop_of(tmp_path, product)
    plan = best_purchase(shop, shop.goals[0], stub)
    assert plan == ShoppingPlan(product=0, options={}, reward=2 / 3)
    assert walk(plan, State(), shop.catalogue)[1][-1] == "click[buy now]"


def test_its_way_through_the_tiny_shop(tmp_path: Path) -> None:
    shop = shop_of(tmp_path)
    plan = best_purchase(shop, goal_for(shop, color="coal grey", size="m"), stub)
    assert walk(plan, State(), shop.catalogue)[1] == [
        "search[Acme Red Desk Lamp]", "click[lamp000001]", "click[coal grey]", "click[m]", "click[buy now]",
    ]  # fmt: skip


PLAN = ShoppingPlan(product=0, options={"color": "red"}, reward=1.0)


@pytest.mark.parametrize(
    ("state", "action"),
    [
        (State(), "search[Acme Red Desk Lamp]"),
        (State(page="results", keywords=("rug",), results=(4, 5)), "search[Acme Red Desk Lamp]"),
        (State(page="results", results=(1, 0)), "click[lamp000001]"),
        (State(page="results", results=(*range(1, 11), 0)), "click[next >]"),
        (State(page="results", results=(1, 0), number=3), "click[< prev]"),
        (at_item(1), "click[< prev]"),  # another product
        (at_item(1, page="features"), "click[< prev]"),
        (at_item(0, page="reviews"), "click[< prev]"),
        (at_item(0), "click[red]"),
        (at_item(0, options={"color": "coal grey"}), "click[red]"),
        (at_item(0, options={"color": "red", "size": "s"}), "click[< prev]"),  # nothing else takes the size back
        (at_item(0, options={"color": "red"}), "click[buy now]"),
    ],
)
def test_the_next_step_from(tmp_path: Path, state: State, action: str) -> None:
    assert next_action(PLAN, state, tiny.catalogue(tmp_path)) == action


def test_a_name_that_many_products_have_is_followed_by_all_that_is_indexed(tmp_path: Path) -> None:
    many = [tiny.product(asin=f"N{number:05d}", name="Lamp [A] lamp") for number in range(60)]
    wanted = tiny.product(asin="WANTED", name="Lamp [A] lamp", description="With a [brass] foot and more words.")
    assert searches(wanted) == ("Lamp A lamp", "lamp a lamp with a brass foot and more words.")
    shop = tiny.catalogue(tmp_path, *many, wanted)
    _, said = walk(ShoppingPlan(product=60, options={}, reward=1.0), State(), shop)
    assert said == [*(f"search[{words}]" for words in searches(wanted)), "click[wanted]", "click[buy now]"]


def test_searches_are_short_enough_to_be_actions() -> None:
    assert len(searches(tiny.product(description="word " * 100_000))[1]) == 2000


def test_it_buys_the_best_from_any_state_of_a_walk() -> None:
    shop = open_shop("generated", "synthetic", 0, 233, 60, 0)
    rng = random.Random(0)
    for index in rng.sample(range(len(shop.goals)), 40):
        goal, state = shop.goals[index], State()
        plan = best_purchase(shop, goal, stub)
        for _ in range(rng.randrange(12)):
            links = clickables(pieces(state, shop.catalogue, ""))
            label = rng.choice([label for label in links if label not in ("search", "buy now")] or ["search"])
            if label == "search":
                state = rules.search(state, shop.catalogue, goal.query, rng)
            else:
                state = rules.click(state, shop.catalogue, label, links)
        bought, _ = walk(plan, state, shop.catalogue, limit=25)
        assert bought.item is not None
        price = float(shop.goals.prices[bought.item])
        assert score(shop.catalogue[bought.item], price, bought.options, goal, stub).reward == plan.reward


@pytest.mark.rotating(3)
def test_on_the_1000_products_no_other_purchase_beats_the_buyers() -> None:
    """The first 40 test goals: every product with the requested options, and with one value of one option."""
    tiny.data_folder()
    shop = open_shop("webshop-1000", "synthetic", 0, 233, 0, 0)
    for goal in shop.goals[:40]:
        best = best_purchase(shop, goal, stub).reward
        for number in range(0, len(shop.catalogue), 7):
            product, price = shop.catalogue[number], float(shop.goals.prices[number])
            for options in ({}, *({name: value} for name, values in product.options.items() for value in values)):
                assert score(product, price, options, goal, stub).reward <= best
