"""Baskets: the cart and its pages, the score by hand, the budget to the cent, and statistics of the tasks."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from cairn.envs.webshop.nouns import stub
from cairn.envs.webshop.oracle import ShoppingPlan
from cairn.envs.webshop.pages import State
from cairn.envs.webshop.shop import Shop
from cairn.envs.webshop.variants._cart import CartLine, cents, dollars, next_number
from cairn.envs.webshop.variants.basket import (
    MAX_THINGS,
    MIN_THINGS,
    SLACK,
    BasketEnv,
    BasketTask,
    _assigned,
    basket_score,
)
from tests.envs.webshop.variants.teahouse import buy, env_of, goal, open_shop, play

TEXT = "Buy (1) tea; (2) a mug."
START = f"WebShop [SEP] Instruction: [SEP] {TEXT} [SEP] Search [SEP] View Cart"
TEA, MUG = (buy("tea0000001", "small", button="add to cart"), buy("mug0000001", button="add to cart"))


def task(shop: Shop, budget: int = 525) -> BasketTask:
    """Return the task to buy the small green tea and the mug, for $4.00 + $1.25 by default."""
    things = (goal(shop, 0, options={"size": "small"}), goal(shop, 4))
    plans = (
        ShoppingPlan(product=0, options={"size": "small"}, reward=1.0),
        ShoppingPlan(product=4, options={}, reward=1.0),
    )
    return BasketTask(goal=goal(shop, 0, TEXT), plan=plans[0], things=things, plans=plans, budget=budget)


def line(shop: Shop, number: int, product: int, options: Mapping[str, str] | None = None) -> CartLine:
    price = cents(float(shop.goals.prices[product]))
    return CartLine(number=number, product=product, options=options or {}, cents=price)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return open_shop(tmp_path)


@pytest.fixture
def env(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> BasketEnv:
    return env_of(BasketEnv, shop, monkeypatch, task(shop))


# -- pages ---------------------------------------------------------------------------------------------------------


def test_every_page_but_the_carts_and_the_last_leads_to_the_cart(env: BasketEnv) -> None:
    assert play(env)[0] == START
    text, _, _ = play(env, "search[mug]")
    assert text == (
        f"Instruction: [SEP] {TEXT} [SEP] Back to Search [SEP] Page 1 (Total results: 1) [SEP] Next > [SEP] "
        "MUG0000001 [SEP] Tea Mug [SEP] $1.25 [SEP] View Cart"
    )
    text, _, _ = play(env, "search[mug]", "click[mug0000001]")
    assert text == (
        f"Instruction: [SEP] {TEXT} [SEP] Back to Search [SEP] < Prev [SEP] size [SEP] small [SEP] Tea Mug [SEP] "
        "Price: $1.25 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] Add to Cart [SEP] "
        "View Cart"
    )
    text, _, _ = play(env, "search[mug]", "click[mug0000001]", "click[description]")
    assert text == f"Instruction: [SEP] {TEXT} [SEP] Back to Search [SEP] < Prev [SEP] View Cart"


def test_an_empty_cart_cannot_be_checked_out(env: BasketEnv) -> None:
    text, _, info = play(env, "click[view cart]")
    assert text == f"Instruction: [SEP] {TEXT} [SEP] Back to Search [SEP] < Prev [SEP] Your cart is empty"
    assert info["admissible_actions"] == ("click[< prev]", "click[back to search]")
    assert env.step("click[checkout]")[:4] == (text, 0.0, False, False)


def test_the_carts_page_shows_options_prices_and_the_total_so_far(env: BasketEnv) -> None:
    text, _, info = play(env, *TEA, *MUG)
    assert text == (
        f"Instruction: [SEP] {TEXT} [SEP] Back to Search [SEP] < Prev [SEP] "
        "Item 1: TEA0000001 [SEP] Green Tea Loose [SEP] size: small [SEP] Price: $4.00 [SEP] Total so far: $4.00 [SEP] "
        "Remove Item 1 [SEP] Item 2: MUG0000001 [SEP] Tea Mug [SEP] Price: $1.25 [SEP] Total so far: $5.25 [SEP] "
        "Remove Item 2 [SEP] Checkout"
    )
    clicks = ("< prev", "back to search", "checkout", "remove item 1", "remove item 2")
    assert info["admissible_actions"] == tuple(f"click[{click}]" for click in clicks)


def test_a_range_of_prices_is_charged_as_the_shop_drew_it(env: BasketEnv, shop: Shop) -> None:
    text, _, _ = play(env, *buy("pot0000001", button="add to cart"))
    drawn = round(100 * float(shop.goals.prices[5]))
    assert 1000 <= drawn <= 2000
    assert f"Price: ${drawn // 100}.{drawn % 100:02} [SEP] Total so far: ${drawn // 100}.{drawn % 100:02}" in text


def test_the_last_page_shows_the_purchases_and_the_score(env: BasketEnv) -> None:
    text, _, info = play(env, *TEA, *MUG, "click[checkout]")
    assert text == (
        "Thank you for shopping with us! [SEP] Purchased [SEP] "
        "Item 1: TEA0000001 [SEP] Green Tea Loose [SEP] size: small [SEP] Price: $4.00 [SEP] "
        "Item 2: MUG0000001 [SEP] Tea Mug [SEP] Price: $1.25 [SEP] "
        "Total: $5.25 [SEP] Your score (min 0.0, max 1.0) [SEP] 1.0"
    )
    assert info["admissible_actions"] == ()


@pytest.mark.parametrize("observation", ["text_rich", "html"])
def test_other_ways_to_show_a_page_show_the_cart(shop: Shop, monkeypatch: pytest.MonkeyPatch, observation: str) -> None:
    env = env_of(BasketEnv, shop, monkeypatch, task(shop), observation=observation)
    text, _, _ = play(env, *TEA)
    button = "[button] Remove Item 1 [button_]"
    assert (button if observation == "text_rich" else '<button class="btn">Remove Item 1</button>') in text
    assert "Price: $4.00" in text


# -- effects of clicks ---------------------------------------------------------------------------------------------


def test_the_cart_closes_over_the_page_that_it_was_opened_from(env: BasketEnv) -> None:
    before, _, info = play(env, *TEA[:-1])
    after, _, _, _, again = (env.step("click[view cart]"), env.step("click[< prev]"))[1]
    assert (after, again) == (before, info)
    assert dict(env.session.options) == {"size": "small"}


def test_back_to_search_and_searching_keep_the_cart(env: BasketEnv) -> None:
    text, _, info = play(env, *TEA, "click[back to search]")
    assert text == START
    assert info["admissible_actions"] == ("click[view cart]", f"search[{TEXT}]")
    text, *_ = env.step("click[view cart]")
    assert "Item 1: TEA0000001" in text
    assert env.step("search[mug]")[0].startswith(f"Instruction: [SEP] {TEXT} [SEP] Back to Search [SEP] Page 1 ")
    assert [line.product for line in env.session.cart] == [0]


def test_buttons_of_the_page_below_do_nothing_while_the_cart_is_shown(env: BasketEnv) -> None:
    text, _, info = play(env, *TEA)
    for label in ("add to cart", "view cart", "large", "description", "search", "buy now"):
        again, reward, _, _, after = env.step(f"click[{label}]")
        assert (again, reward, after["anchor"]) == (text, 0.0, info["anchor"])


def test_buy_now_does_not_bypass_the_cart(env: BasketEnv) -> None:
    before, _, info = play(env, *TEA[:-1])
    assert env.step("click[buy now]")[:3] == (before, 0.0, False)
    assert "click[buy now]" not in info["admissible_actions"]


def test_the_same_product_twice_gives_two_separate_lines(env: BasketEnv) -> None:
    text, _, _ = play(env, *TEA, *TEA)
    assert "Remove Item 1" in text
    assert "Remove Item 2 [SEP] Checkout" in text
    assert "Total so far: $8.00" in text
    text = env.step("click[remove item 1]")[0]
    assert "Item 2: TEA0000001" in text
    assert "Item 1" not in text
    assert "Total so far: $4.00 [SEP] Remove Item 2 [SEP] Checkout" in text


def test_line_numbers_stay_when_other_lines_are_added_and_removed(env: BasketEnv) -> None:
    play(env, *TEA, *MUG, "click[remove item 1]", *TEA)
    assert [(line.number, line.product) for line in env.session.cart] == [(2, 4), (3, 0)]
    assert next_number(()) == 1
    text = (env.step("click[remove item 2]"), env.step("click[remove item 3]"))[1][0]
    assert text.endswith("Your cart is empty")


# -- states --------------------------------------------------------------------------------------------------------


def test_anchors_distinguish_carts_and_whether_they_are_shown(env: BasketEnv) -> None:
    walks = (
        (),
        ("click[view cart]",),
        TEA,
        (*TEA, "click[< prev]"),
        (*TEA, "click[back to search]"),
        buy("tea0000001", "large", button="add to cart"),
        (*TEA, *TEA, "click[back to search]"),
        (*TEA, *MUG, "click[back to search]"),
        (*MUG, *TEA, "click[back to search]"),
        (*TEA, *TEA, "click[remove item 1]", "click[back to search]"),  # number 2 is left
    )
    anchors = [play(env, *walk)[2]["anchor"] for walk in walks]
    assert len(set(anchors)) == len(walks)
    same = play(env, *TEA, *MUG, "click[remove item 2]", "click[back to search]")[2]["anchor"]
    assert same == anchors[4]


def test_snapshots_bring_the_cart_back(env: BasketEnv) -> None:
    text, _, info = play(env, *TEA)
    saved = env.snapshot()
    assert env.step("click[remove item 1]")[0].endswith("Your cart is empty")
    env.restore(saved)
    assert (env.anchor(), [line.product for line in env.session.cart]) == (info["anchor"], [0])
    assert env.step("click[nothing]")[0] == text


# -- the score -----------------------------------------------------------------------------------------------------


def test_buying_all_wanted_products_within_the_budget_scores_1(env: BasketEnv) -> None:
    _, reward, info = play(env, *MUG, *TEA, "click[checkout]")  # in any order
    assert (reward, info["score"], info["success"]) == (1.0, 1.0, True)


@pytest.mark.parametrize(("budget", "expected"), [(525, 3 / 3), (524, 2 / 3), (526, 3 / 3)])
def test_the_budget_counts_to_the_cent(shop: Shop, budget: int, expected: float) -> None:
    cart = (line(shop, 1, 0, {"size": "small"}), line(shop, 2, 4))
    score, parts = basket_score(shop, cart, task(shop, budget), stub)
    assert score == expected
    assert sum(parts.values()) == pytest.approx(expected, abs=1e-12)


def test_the_score_by_hand(shop: Shop) -> None:
    """Asked for: a tea that is organic and loose leaf, small; a mug that is hand made."""
    tea, large, bags, mug, pot = (
        line(shop, 1, 0, {"size": "small"}),
        line(shop, 2, 0, {"size": "large"}),
        line(shop, 3, 2, {"size": "small"}),
        line(shop, 4, 4),
        line(shop, 5, 5),
    )

    def score(*cart: CartLine, budget: int = 10_000) -> float:
        return basket_score(shop, cart, task(shop, budget), stub)[0]

    assert score(tea) == (1 + 0 + 1) / (2 + 1)  # the mug is missing
    assert score(large, mug) == pytest.approx((2 / 3 + 1 + 1) / 3)  # another size
    assert score(bags, mug) == pytest.approx((2 / 3 + 1 + 1) / 3)  # not loose leaf
    assert score(tea, mug, mug) == (1 + 1 + 1) / (3 + 1)  # one too many
    assert score(tea, tea) == (1 + 0 + 1) / 3  # the second is worth nothing for a mug
    assert score(mug, budget=124) == (1 + 0 + 0) / 3
    assert score(tea, mug, large, bags, budget=1174) == (1 + 1) / 5  # $11.75, a cent too much
    assert score(pot) == 0.0  # nothing wanted: the budget does not count
    assert score(tea, pot, budget=400) == pytest.approx(1 / 3)


def test_wanted_things_are_assigned_so_that_most_is_gained() -> None:
    """Against every assignment, tried one by one."""
    rng = random.Random(0)
    for _ in range(300):
        num_items, num_things = rng.randint(0, 5), rng.randint(1, 4)
        worths = [[rng.choice((0.0, 0.25, 0.5, 1.0)) for _ in range(num_things)] for _ in range(num_items)]
        slots = [*range(num_items), *[None] * num_things]
        every = itertools.permutations(slots, num_things)
        most = max(sum(worths[item][thing] for thing, item in enumerate(of) if item is not None) for of in every)
        assert _assigned(worths, num_things) == most


def test_money_is_written_with_two_decimals() -> None:
    assert [dollars(amount) for amount in (0, 5, 1205, 100_000)] == ["$0.00", "$0.05", "$12.05", "$1000.00"]
    assert cents(0.29) == 29  # which is 28.999... times a cent
    assert cents(12.3449) == 1234


# -- tasks and oracle ------------------------------------------------------------------------------------------------


def test_tasks_ask_for_two_to_four_things_that_fit_the_budget_and_little_more() -> None:
    env = BasketEnv()
    kinds = set()
    for each in env.tasks()[:60]:
        made = env.task(each)
        kinds.add(env.task_type(each))
        assert env.task_type(each) == f"{env.difficulty(each)} things"
        spent = sum(cents(float(env.shop.goals.prices[plan.product])) for plan in made.plans)
        assert spent <= made.budget <= spent * (1 + SLACK) + 100
        assert made.budget % 100 == 0
        assert MIN_THINGS <= len(made.things) <= MAX_THINGS
        assert len({thing.query for thing in made.things}) == len(made.things)
        assert f"{made.budget // 100} dollars" in made.goal.instruction
        assert all(
            f"{name}: {value}" in made.goal.instruction for plan in made.plans for name, value in plan.options.items()
        )
        assert env.goal(each) == made.goal
        assert env.best_score(each) == 1.0
    assert kinds == {"2 things", "3 things", "4 things"}


def test_budgets_rule_out_many_of_the_alternative_products() -> None:
    """Of all other products of a wanted query, a third at least cost too much in place of the wanted one."""
    env = BasketEnv()
    prices, over = env.shop.goals.prices, []
    for each in env.tasks()[:60]:
        made = env.task(each)
        spent = sum(cents(float(prices[plan.product])) for plan in made.plans)
        for plan, thing in zip(made.plans, made.things, strict=True):
            others = (n for n in env.shop.catalogue.of_group("query", thing.query) if n != plan.product)
            left = made.budget - spent + cents(float(prices[plan.product]))
            over += [cents(float(prices[other])) > left for other in others]
    assert 1 / 3 < sum(over) / len(over) < 2 / 3


def test_the_oracle_removes_wrong_items_that_others_put_into_the_cart(env: BasketEnv) -> None:
    wrong = buy("tea0000001", "large", button="add to cart")
    _, _, info = play(env, *wrong, *TEA, *TEA, "click[back to search]", "search[pot]", "click[pot0000001]")
    actions = []
    while not info["success"]:
        actions.append(env.oracle())
        *_, truncated, info = env.step(actions[-1])
        assert not truncated, actions
    assert {"click[remove item 1]", "click[remove item 3]"} <= set(actions)
    assert info["score"] == 1.0


def test_the_oracle_takes_the_shortest_way_from_the_page_of_a_missing_product(env: BasketEnv) -> None:
    play(env, "search[mug]", "click[mug0000001]")
    assert env.oracle() == "click[add to cart]"
    play(env, "search[tea]", "click[tea0000001]", "click[large]", "click[view cart]")
    assert env.oracle() == "click[< prev]"
    play(env, *TEA, *MUG)
    assert env.oracle() == "click[checkout]"


def test_rules_keep_the_cart_of_the_state(env: BasketEnv) -> None:
    play(env, *TEA)
    assert isinstance(env.session, State)
    assert type(env.first()) is type(env.session)
