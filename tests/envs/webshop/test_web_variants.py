"""Environments made of the web shop, through its pages: the page shows their texts and offers their actions."""

from __future__ import annotations

import random

import pytest
from starlette.testclient import TestClient

from cairn.envs import registry
from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.web import make_app
from tests.envs.webshop.forms import HOST, Visitor
from tests.envs.webshop.side_by_side import SHOP, TextShop, agree, walk

pytestmark = pytest.mark.rotating(4)

VARIANTS = [env_id for env_id in registry.ids() if env_id.startswith("webshop/")]
ENOUGH = {"num_products": 300}


def server(env_id: str) -> tuple[TestClient, WebShopEnv]:
    env = registry.make(env_id, **{**SHOP, **ENOUGH})
    assert isinstance(env, WebShopEnv)
    return TestClient(make_app(env), base_url=HOST), env


def do(visitor: Visitor, action: str) -> None:
    """Act on the page; a search where the page has no search bar is posted, as the text environments take one there."""
    if action.startswith("search[") and not visitor.page.all("input", name="search"):
        visitor.read(visitor.client.post(f"{visitor.address}act", data={"search": action[7:-1]}))
    else:
        visitor.act(action)


@pytest.mark.parametrize("env_id", VARIANTS)
def test_an_oracles_episodes_through_the_forms_are_the_text_environments(env_id: str) -> None:
    client, env = server(env_id)
    for task in env.tasks()[:6]:
        visitor, shop = Visitor(client, task), TextShop(task, env_id, **ENOUGH)
        while not (shop.known["terminated"] or shop.known["truncated"]):
            action = shop.env.oracle()
            do(visitor, action)
            shop.act(action)
            agree(visitor, shop)
        assert visitor.state["score"] == 1.0
        assert "1.0" in visitor.page.one("main").text


@pytest.mark.parametrize("env_id", VARIANTS)
def test_random_episodes_are_the_text_environments(env_id: str) -> None:
    client, env = server(env_id)
    rng = random.Random(0)
    for task in env.tasks()[6:10]:
        visitor, shop = Visitor(client, task), TextShop(task, env_id, **ENOUGH)
        while not (shop.known["terminated"] or shop.known["truncated"]):
            walk(visitor, shop, rng)
            agree(visitor, shop)
