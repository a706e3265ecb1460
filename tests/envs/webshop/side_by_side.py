"""The web shop's pages and the text shop side by side: the same actions to both, and all that must then be equal."""

from __future__ import annotations

import random
from typing import Any

from cairn.envs import registry
from cairn.envs.webshop.env import WebShopEnv
from tests.envs.webshop.forms import Visitor

SHOP: dict[str, Any] = {"num_products": 40, "show_attributes": True}  # Any: settings
Known = dict[str, Any]  # Any: the values that `step` returns


class TextShop:
    """An environment by itself, and its last text."""

    env: WebShopEnv

    def __init__(self, task: str, env_id: str = "webshop", **config: Any) -> None:  # Any: settings
        env = registry.make(env_id, **{**SHOP, **config})
        assert isinstance(env, WebShopEnv)
        self.env = env
        observation, info = self.env.reset(options={"task": task})
        self.known = self._known(observation, 0.0, False, False, info)

    def act(self, action: str) -> None:
        self.known = self._known(*self.env.step(action))

    def _known(self, observation: str, reward: float, terminated: bool, truncated: bool, info: Known) -> Known:
        reported = info | {name: list(info[name]) for name in ("admissible_actions", "tools", "results")}
        ending = {"terminated": terminated, "truncated": truncated, "reward": reward}
        return {**reported, **ending, "observation": observation, "turn": self.env.turn}


def agree(visitor: Visitor, shop: TextShop) -> None:
    """Assert that both are in one state, and that the page offers and shows the same as the text shop."""
    state, page = visitor.state, shop.env.page
    assert {name: state[name] for name in shop.known} == shop.known
    if not shop.known["truncated"]:
        assert set(visitor.page.clicks) == set(shop.env.links) - {"search"}
        assert len(visitor.page.clicks) == sum(piece.kind != "text" and piece.text != "Search" for piece in page)
    if not shop.known["terminated"]:  # the original's last page is an empty form
        seen = visitor.page.one("html").text
        unseen = [piece.text for piece in page if piece.text.strip() not in seen and piece.kind != "product"]
        assert set(unseen) <= {"Instruction:"}


def walk(visitor: Visitor, shop: TextShop, rng: random.Random) -> None:
    """Take a random step on both, along the links of the page; leaving a product and buying it are rare."""
    offers = [f"click[{label}]" for label in visitor.page.clicks]
    if visitor.page.all("input", name="search"):
        offers = [f"search[{' '.join(rng.choices(shop.known['observation'].split(), k=5))}]"]
    rare = {"click[back to search]": 0.1, "click[buy now]": 0.1, "click[checkout]": 0.1}
    (action,) = rng.choices(offers, [rare.get(offer, 1.0) for offer in offers])
    visitor.act(action)
    shop.act(action)
