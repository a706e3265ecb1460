"""The cheapest product that fits: the score by hand, a clear answer of every task, and statistics of the tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cairn.envs.webshop.oracle import ShoppingPlan, choosable
from cairn.envs.webshop.products import Product
from cairn.envs.webshop.shop import Shop
from cairn.envs.webshop.variants._conditions import meets, options_of
from cairn.envs.webshop.variants.cheapest import MAX_FITTING, CheapestEnv, CheapestTask
from tests.envs.webshop.variants.teahouse import BOTH, PRODUCTS, buy, env_of, goal, open_shop, play

TEXT = "Find the cheapest organic teas with loose leaf."


def task(shop: Shop, options: Mapping[str, str] | None = None) -> CheapestTask:
    """Return the task to find the cheapest loose organic tea, in a size if one is given: that at $3.00."""
    asked = goal(shop, 1, TEXT, attributes=BOTH, options=options or {}, price_limit=3.0)
    plan = ShoppingPlan(product=1, options=options or {}, reward=1.0)
    return CheapestTask(goal=asked, plan=plan, fitting=(1, 0, 3), dearest=9.0)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return open_shop(tmp_path)


@pytest.fixture
def env(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> CheapestEnv:
    return env_of(CheapestEnv, shop, monkeypatch, task(shop))


@pytest.mark.parametrize(
    ("asin", "score"),
    [
        ("tea0000002", 1.0),  # $3.00, the cheapest that fits
        ("tea0000001", 3 / 4),  # fits for $4.00
        ("tea0000004", 3 / 9),  # fits for $9.00
        ("tea0000003", 1 / 2 * 3 / 9),  # cheaper, and not loose leaf: as if for $9.00
        ("mug0000001", 1 / 2 * 3 / 9),  # has both, but is not a tea; it shares the noun tea, one of three
        ("pot0000001", 0.0),
    ],
)
def test_the_score_by_hand(env: CheapestEnv, asin: str, score: float) -> None:
    _, reward, info = play(env, *buy(asin))
    assert (reward, info["score"]) == pytest.approx((score, score))
    assert info["success"] is (score == 1.0)
    assert sum(info["channels"].values()) == pytest.approx(score, abs=1e-12)


def test_parts_of_the_score_by_hand(env: CheapestEnv) -> None:
    """Of two attributes: another type loses half of it, a price above the least its excess as a share of the price."""
    names = ("attributes", "options", "type", "price")
    for asin, parts in (
        ("tea0000001", (1.0, 0.0, 0.0, -1 / 4)),  # $4.00 in place of $3.00
        ("mug0000001", (1.0, 0.0, -1 / 2, -1 / 2 * 6 / 9)),  # as if for $9.00
    ):
        *_, info = play(env, *buy(asin))
        assert [info["channels"][name] for name in names] == pytest.approx(parts, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "score"),
    [
        (("small",), 1.0),
        (("large", "small"), 1.0),  # the last choice counts
        (("large",), 2 / 3 * 3 / 9),
        ((), 2 / 3 * 3 / 9),
    ],
)
def test_options_count_only_as_they_are_asked_for(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], score: float
) -> None:
    env = env_of(CheapestEnv, shop, monkeypatch, task(shop, {"size": "small"}))
    _, reward, info = play(env, *buy("tea0000002", *options))
    assert reward == pytest.approx(score)
    assert info["success"] is (score == 1.0)


def test_an_option_that_is_similar_for_the_base_reward_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the base reward, any grey is the grey asked for."""
    grey = {"color": ("coal grey", "light grey")}
    shop = open_shop(tmp_path, *(replace(each, options=grey) for each in PRODUCTS))
    made = task(shop, {"color": "coal grey"})
    scores = [
        play(env_of(CheapestEnv, shop, monkeypatch, made), *buy("tea0000002", option))[1]
        for option in ("coal grey", "light grey")
    ]
    assert scores == pytest.approx([1.0, 2 / 3 * 3 / 9])


def test_pages_are_the_base_shops_with_the_familys_instruction(env: CheapestEnv) -> None:
    assert play(env)[0] == f"WebShop [SEP] Instruction: [SEP] {TEXT} [SEP] Search"
    assert play(env, "search[tea]", "click[tea0000002]")[0] == (
        f"Instruction: [SEP] {TEXT} [SEP] Back to Search [SEP] < Prev [SEP] size [SEP] small [SEP] large [SEP] "
        "Black Tea Loose [SEP] Price: $3.0 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] "
        "Buy Now"
    )
    text, _, _ = play(env, *buy("tea0000001"))
    assert text.startswith("Thank you for shopping with us! [SEP] ")
    assert "Your score (min 0.0, max 1.0) [SEP] 0.75 [SEP]" in text


def test_the_tasks_of_a_shop_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only kind with several products is tea; $2.50 is the least for organic, $3.00 with loose leaf."""
    env = env_of(CheapestEnv, open_shop(tmp_path), monkeypatch)
    answers = {
        frozenset({*env.goal(each).attributes, *options_of(env.goal(each)).values()}): env.goal(each).product
        for each in env.tasks()
    }
    teas = {frozenset({"organic"}): 2, frozenset({"loose leaf"}): 1, frozenset(BOTH): 1}
    sized = {conditions | {size}: answer for conditions, answer in teas.items() for size in ("small", "large")}
    assert answers
    assert answers.items() <= {**teas, **sized}.items()


@pytest.mark.parametrize(
    "change",
    [
        {"prices": (3.0, 5.0)},  # a range that begins with the least price
        {"prices": (2.0, 20.0)},
        {"query": "infusions", "prices": (3.0,)},  # the same place in the shop, another query, and as cheap
    ],
)
def test_no_task_is_made_whose_answer_is_not_clear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """Loose leaf tea, with a product that could be meant as well; the task of organic tea is out for a range too."""
    one, two, _, four, *rest = PRODUCTS
    text, asked = "Find me teas with loose leaf", ("loose leaf",)
    teas = [replace(each, instruction=text, instruction_attributes=asked, options={}) for each in (one, two, four)]
    assert {env.goal(t).product for env in [_env(tmp_path, monkeypatch, *teas, *rest)] for t in env.tasks()} == {1}
    rival = replace(teas[2], asin="RIVAL00001", **change)
    with pytest.raises(Exception, match="none makes a task"):
        _env(tmp_path, monkeypatch, *teas, rival, *rest)


def test_products_of_equal_prices_make_no_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same = [replace(each, prices=(3.0,)) for each in PRODUCTS[:4]]
    with pytest.raises(Exception, match="none makes a task"):
        _env(tmp_path, monkeypatch, *same, *PRODUCTS[4:])


def _env(folder: Path, monkeypatch: pytest.MonkeyPatch, *products: Product) -> CheapestEnv:
    return env_of(CheapestEnv, open_shop(folder, *products), monkeypatch)


@pytest.mark.parametrize("split", ["train", "test"])
def test_answers_of_generated_tasks_are_the_least_of_all_that_fit(split: str) -> None:
    """Worked out again from the catalogue: the fitting products and their prices."""
    env = CheapestEnv(split=split)
    catalogue, prices = env.shop.catalogue, env.shop.goals.prices
    for each in env.tasks()[:60]:
        made, asked = env.task(each), env.goal(each)
        fitting = {
            number
            for number in range(len(catalogue))
            if catalogue[number].query == asked.query
            and all(meets(catalogue[number], attribute, asked) for attribute in asked.attributes)
            and choosable(catalogue[number], options_of(asked)) == asked.options
        }
        assert set(made.fitting) == fitting
        assert 2 <= len(fitting) <= MAX_FITTING
        assert asked.price_limit == min(prices[number] for number in fitting) < made.dearest
        assert all(attribute in asked.instruction for attribute in asked.attributes)
        assert len(catalogue[asked.product].prices) == 1
        assert (made.plan.product, made.plan.options) == (asked.product, asked.options)


def test_most_tasks_compare_three_products_or_more() -> None:
    env = CheapestEnv()
    sizes = [len(env.task(each).fitting) for each in env.tasks()[:60]]
    assert sum(size >= 3 for size in sizes) > 50
    assert max(sizes) >= 6


def test_every_fitting_product_scores_more_than_any_other() -> None:
    env = CheapestEnv()
    best_of_others = []
    for each in env.tasks()[:10]:
        env.reset(options={"task": each})
        made = env.task(each)
        fits = [env.purchase_score(number, made.plan.options).reward for number in made.fitting]
        others = [
            env.purchase_score(number, choosable(env.shop.catalogue[number], made.plan.options)).reward
            for number in set(range(len(env.shop.catalogue))) - set(made.fitting)
        ]
        best_of_others.append(max(others))
        assert min(fits) > max(others)
        assert fits == sorted(fits, reverse=True)
        assert fits[0] == 1.0
    assert sum(best_of_others) > 0
