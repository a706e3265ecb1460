"""Dead ends: sold-out products cannot be bought, by any way, and the way back leads to a product that can."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.envs.webshop.nouns import stub
from cairn.envs.webshop.oracle import ShoppingPlan, best_choice
from cairn.envs.webshop.shop import Shop
from cairn.envs.webshop.variants._conditions import options_of
from cairn.envs.webshop.variants._tasks import GoalPool
from cairn.envs.webshop.variants.backtrack import MAX_DEAD_ENDS, BacktrackEnv, BacktrackTask, _dead_end, _sell_out
from tests.envs.webshop.variants.teahouse import BOTH, PRODUCTS, buy, env_of, goal, open_shop, play

pytestmark = pytest.mark.rotating(4)

TEXT = "Find me organic teas with loose leaf (size: small)."
HEAD = f"Instruction: [SEP] {TEXT} [SEP] Back to Search"
FOOT = "Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews"


def task(shop: Shop) -> BacktrackTask:
    """Return the task to buy the mint tea; the green tea is sold out, of the black tea the small size is."""
    asked = goal(shop, 3, TEXT, attributes=BOTH, options={"size": "small"})
    plan = ShoppingPlan(product=3, options={"size": "small"}, reward=1.0)
    return BacktrackTask(goal=asked, plan=plan, sold_out={0: None, 1: ("size", "small")})


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BacktrackEnv:
    shop = open_shop(tmp_path)
    return env_of(BacktrackEnv, shop, monkeypatch, task(shop))


def test_a_product_that_is_sold_out_has_no_button_to_buy_it(env: BacktrackEnv) -> None:
    text, _, info = play(env, "search[tea]", "click[tea0000001]")
    assert text == (
        f"{HEAD} [SEP] < Prev [SEP] size [SEP] small [SEP] large [SEP] Green Tea Loose [SEP] Price: $4.0 [SEP] {FOOT} "
        "[SEP] Sold Out"
    )
    assert "click[buy now]" not in info["admissible_actions"]
    assert env.step("click[buy now]")[:3] == (text, 0.0, False)
    assert env.step("click[sold out]")[:3] == (text, 0.0, False)


def test_a_value_that_is_sold_out_cannot_be_chosen(env: BacktrackEnv) -> None:
    text, _, info = play(env, "search[tea]", "click[tea0000002]")
    assert text == (
        f"{HEAD} [SEP] < Prev [SEP] size [SEP] small (sold out) [SEP] large [SEP] Black Tea Loose [SEP] Price: $3.0 "
        f"[SEP] {FOOT} [SEP] Buy Now"
    )
    assert [action for action in info["admissible_actions"] if "small" in action] == []
    for label in ("small", "small (sold out)"):
        again, reward, _, _, after = env.step(f"click[{label}]")
        assert (again, reward, after["anchor"]) == (text, 0.0, info["anchor"])
    assert dict(env.session.options) == {}


def test_it_is_sold_out_on_every_visit_and_elsewhere_all_is_as_in_the_base_shop(env: BacktrackEnv) -> None:
    first, _, _ = play(env, "search[tea]", "click[tea0000001]")
    for actions in (("click[description]", "click[< prev]"), ("click[< prev]", "click[tea0000001]")):
        assert [env.step(action)[0] for action in actions][-1] == first
    assert play(env, "search[white loose iron]", "click[tea0000001]")[0] == first
    other, _, _ = play(env, "search[tea]", "click[tea0000003]")
    assert other == (
        f"{HEAD} [SEP] < Prev [SEP] size [SEP] small [SEP] large [SEP] White Tea Bags [SEP] Price: $2.5 [SEP] {FOOT} "
        "[SEP] Buy Now"
    )
    assert "sold out" not in play(env, "search[tea]")[0].lower()


def test_a_purchase_is_scored_by_the_base_reward(env: BacktrackEnv) -> None:
    """(attributes + options + price) / (2 + 1 + 1)."""
    scores = {
        asin: play(env, *buy(asin, *options))[2]["score"]
        for asin, *options in (
            ("tea0000004", "small"),
            ("tea0000004",),
            ("tea0000002", "large"),
            ("tea0000003", "small"),
        )
    }
    assert scores == {"tea0000004": 3 / 4, "tea0000002": 3 / 4, "tea0000003": 3 / 4}
    _, reward, info = play(env, *buy("tea0000004", "small"))
    assert (reward, info["success"]) == (1.0, True)


def test_the_oracle_looks_at_fitting_products_goes_back_and_buys(env: BacktrackEnv) -> None:
    play(env)
    actions = []
    for _ in range(12):
        actions.append(env.oracle())
        *_, terminated, _, info = env.step(actions[-1])
        if terminated:
            break
    assert actions == [
        f"search[{TEXT}]",
        "click[tea0000001]",
        "click[< prev]",
        "click[tea0000002]",
        "click[< prev]",
        "click[tea0000004]",
        "click[small]",
        "click[buy now]",
    ]
    assert info["success"]


def test_the_oracle_continues_from_anywhere(env: BacktrackEnv) -> None:
    for walk in (
        ("search[pot]", "click[pot0000001]"),
        ("search[tea]", "click[tea0000001]", "click[features]"),
        ("search[tea]", "click[next >]", "click[next >]"),
        ("search[tea]", "click[tea0000004]", "click[small]"),
    ):
        _, _, info = play(env, *walk)
        while not info["success"]:
            *_, truncated, info = env.step(env.oracle())
            assert not truncated, walk


@pytest.mark.parametrize("split", ["train", "test"])
def test_generated_tasks_sell_out_the_first_fitting_products_and_leave_another(split: str) -> None:
    """Worked out again: all that fits in the order of the results; nothing is worth 1 before the answer."""
    env = BacktrackEnv(split=split)
    shop, kinds = env.shop, set()
    for each in env.tasks()[:40]:
        made, asked = env.task(each), env.goal(each)
        results = shop.catalogue.search(asked.instruction.lower())
        worths = {number: best_choice(shop, number, asked, env._nouns).reward for number in results}
        fitting = [number for number in results if worths[number] == 1.0]
        count = len(made.sold_out)
        assert fitting[: count + 1] == [*made.sold_out, made.plan.product]
        assert 1 <= count <= MAX_DEAD_ENDS
        env.reset(options={"task": each})
        assert env.purchase_score(made.plan.product, made.plan.options).reward == 1.0
        for number, gone in made.sold_out.items():
            kinds.add(gone is None)
            if gone is not None:
                assert gone[1] in options_of(asked).values() or gone[1] in shop.catalogue[number].options[gone[0]]
                assert _best_without(env, number, gone) < 1.0
    assert kinds == {True, False}


def _best_without(env: BacktrackEnv, number: int, gone: tuple[str, str]) -> float:
    """Return the most that a product is worth if it is bought by clicks on its page."""
    product = env.shop.catalogue[number]
    env.step(f"search[{product.name}]")
    env.step(f"click[{product.asin.lower()}]")
    assert env.session.item == number
    assert any(piece.text == f"{gone[1]} (sold out)" for piece in env.page)
    offered = [(piece.name, piece.text) for piece in env.links.values() if piece.kind == "option"]
    assert gone not in offered
    best = 0.0
    choices: list[dict[str, str]] = [{}]
    for name in product.options:
        values = [value for of, value in offered if of == name]
        choices += [{**chosen, name: value} for chosen in choices for value in values]
    for chosen in choices:
        best = max(best, env.purchase_score(number, chosen).reward)
    return best


def test_a_value_is_sold_out_only_if_no_other_value_meets_the_goal(tmp_path: Path) -> None:
    """To the base reward any grey is the grey asked for; then the whole product is sold out."""
    greys = [replace(each, options={"size": ("small", "large"), "color": ("coal grey", "grey")}) for each in PRODUCTS]
    shop = open_shop(tmp_path, *greys)
    pool, gone = GoalPool(shop, stub, range(len(shop.goals))), {}
    for options in ({"size": "small"}, {"color": "grey"}, {"color": "coal grey"}):
        asked, plan = goal(shop, 0, options=options), ShoppingPlan(product=0, options=options, reward=1.0)
        gone[str(options)] = {_dead_end(pool, plan, asked, random.Random(seed)) for seed in range(20)}
    assert list(gone.values()) == [{None, ("size", "small")}, {None}, {None}]


def test_sold_out_products_depend_on_the_instruction_and_not_on_its_goal(tmp_path: Path) -> None:
    shop = open_shop(tmp_path)
    pool, found = GoalPool(shop, stub, range(len(shop.goals))), 0
    for number in range(20):
        asked = goal(
            shop, 0, f"Find me organic teas number {number}", attributes=("organic",), options={"size": "small"}
        )
        made = _sell_out(pool, asked)
        assert made == _sell_out(pool, replace(asked, product=1, asin="TEA0000002"))
        found += made is not None  # None: the remaining products are of no goal's split
    assert found > 10


def test_equal_instructions_are_the_same_task_in_every_split() -> None:
    """Experience of a task is therefore useless for one of another split with the same words."""
    seen: dict[str, BacktrackTask] = {}
    for split in ("train", "valid", "test"):
        env = BacktrackEnv(split=split)
        for each in env.tasks()[:60]:
            made = env.task(each)
            known = seen.setdefault(made.goal.instruction, made)
            assert known.sold_out == made.sold_out
            assert known.plan == made.plan
    assert len(seen) > 150


def test_answers_are_on_further_pages_now_and_then() -> None:
    env = BacktrackEnv(split="test")
    places = [
        env.shop.catalogue.search(env.goal(each).instruction.lower()).index(env.goal(each).product)
        for each in env.tasks()[:60]
    ]
    assert sum(place >= 10 for place in places) >= 3
    assert {env.task_type(each) for each in env.tasks()[:60]} == {"1 sold out", "2 sold out", "3 sold out"}
