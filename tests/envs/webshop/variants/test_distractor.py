"""Distractors: mentioned wishes change nothing, forbidden attributes halve the score, and searches go astray."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.oracle import ShoppingPlan
from cairn.envs.webshop.shop import Shop
from cairn.envs.webshop.variants._conditions import meets
from cairn.envs.webshop.variants.distractor import DistractorEnv, DistractorTask
from tests.envs.webshop import tiny
from tests.envs.webshop.variants.teahouse import buy, env_of, goal, open_shop, play

TEXT = 'Find me organic teas. It must not be described with "loose leaf".'


def task(shop: Shop) -> DistractorTask:
    """Return the task to buy the large white tea, and nothing that is loose leaf."""
    asked = goal(shop, 2, TEXT, attributes=("organic",), options={"size": "large"}, price_limit=3.5)
    plan = ShoppingPlan(product=2, options={"size": "large"}, reward=1.0)
    return DistractorTask(goal=asked, plan=plan, forbidden="loose leaf")


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DistractorEnv:
    shop = open_shop(tmp_path)
    return env_of(DistractorEnv, shop, monkeypatch, task(shop))


@pytest.mark.parametrize(
    ("asin", "options", "score"),
    [
        ("tea0000003", ("large",), 1.0),
        ("tea0000003", ("small",), 2 / 3),  # as in the base shop: organic, within the limit, another size
        ("tea0000002", ("large",), 1 / 2),  # all that is asked for, and loose leaf: half
        ("tea0000001", ("large",), 2 / 3 / 2),  # too dear, and loose leaf
        ("tea0000004", (), 1 / 3 / 2),
        ("pot0000001", (), 0.0),
    ],
)
def test_the_score_by_hand(env: DistractorEnv, asin: str, options: tuple[str, ...], score: float) -> None:
    """(attributes + options + price) / (1 + 1 + 1), halved for a forbidden attribute."""
    _, reward, info = play(env, *buy(asin, *options))
    assert (reward, info["score"]) == pytest.approx((score, score))
    assert info["success"] is (score == 1.0)
    is_forbidden = asin in ("tea0000001", "tea0000002", "tea0000004")
    assert info["channels"]["forbidden"] == pytest.approx(-score if is_forbidden else 0.0)
    assert sum(info["channels"].values()) == pytest.approx(score, abs=1e-12)


def test_pages_are_the_base_shops_with_the_familys_instruction(env: DistractorEnv) -> None:
    assert play(env)[0] == f"WebShop [SEP] Instruction: [SEP] {TEXT} [SEP] Search"
    assert play(env, "search[white]", "click[tea0000003]")[0] == (
        f"Instruction: [SEP] {TEXT} [SEP] Back to Search [SEP] < Prev [SEP] size [SEP] small [SEP] large [SEP] "
        "White Tea Bags [SEP] Price: $2.5 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] "
        "Buy Now"
    )
    assert "[SEP] 0.5 [SEP]" in play(env, *buy("tea0000002", "large"))[0]


def test_the_goals_own_instruction_is_among_statements_that_are_false_for_its_product() -> None:
    base, env = WebShopEnv(), DistractorEnv()
    for each in env.tasks()[:60]:
        made = env.task(each)
        product = env.shop.catalogue[made.goal.product]
        own = base.goal(each.replace("distractor/", "goal/"))
        assert f"{own.instruction}." in made.goal.instruction
        assert f'"{made.forbidden}"' in made.goal.instruction
        assert not meets(product, made.forbidden, own)
        assert made.forbidden not in own.attributes
        assert len(made.goal.instruction) > len(own.instruction) + len(made.forbidden) + 30
        assert (own.product, own.attributes, own.options) == (
            made.goal.product,
            made.goal.attributes,
            made.goal.options,
        )


def test_every_way_to_lead_astray_occurs_and_some_tasks_have_several() -> None:
    env = DistractorEnv()
    texts = [env.goal(each).instruction for each in env.tasks()[:60]]
    before = [any(words in text for words in ("Last time", "My last order", "I still have")) for text in texts]
    others = [any(words in text for words in ("My sister", "A friend", "my brother")) for text in texts]
    assert all(one or two for one, two in zip(before, others, strict=True))
    both = sum(one and two for one, two in zip(before, others, strict=True))
    assert 0 < both < len(texts)
    assert sum(before) < len(texts) > sum(others)


# How often the product asked for comes first when one searches for the whole instruction: in the base shop at least,
# in the family at most; near the values measured when this was written.
FIRST = {"generated": (0.75, 0.45), "webshop-1000": (0.45, 0.15)}


@pytest.mark.rotating(3)
@pytest.mark.parametrize("source", FIRST)
def test_searching_for_the_whole_instruction_misleads(source: str) -> None:
    if source == "webshop-1000":
        tiny.data_folder()
    shares = []
    for env in (WebShopEnv(source=source, split="test"), DistractorEnv(source=source, split="test")):
        goals = [env.goal(each) for each in env.tasks()[:200]]
        first = [env.shop.catalogue.search(asked.instruction.lower())[0] == asked.product for asked in goals]
        shares.append(sum(first) / len(first))
    at_least, at_most = FIRST[source]
    assert shares[0] > at_least
    assert shares[1] < at_most
