"""Agents that understand nothing, and their scores."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from cairn.envs.webshop.env import WebShopEnv

Agent = Callable[[WebShopEnv, dict[str, Any], random.Random], str]  # Any: `info`
_BUTTONS = ("buy now", "add to cart", "checkout")


def oracle(env: WebShopEnv, info: dict[str, Any], rng: random.Random) -> str:
    return env.oracle()


def at_random(env: WebShopEnv, info: dict[str, Any], rng: random.Random) -> str:
    return str(rng.choice(info["admissible_actions"]))


def first_result(env: WebShopEnv, info: dict[str, Any], rng: random.Random) -> str:
    """Search for the whole instruction and buy the first product that is found, as it comes."""
    if env.session.page == "search":
        return next(str(action) for action in info["admissible_actions"] if action.startswith("search["))
    product = next((label for label, piece in env.links.items() if piece.kind == "product"), None)
    button = next((label for label in _BUTTONS if label in env.links), "nothing")
    return f"click[{product or button}]"


def results(env: WebShopEnv, agent: Agent, count: int) -> tuple[float, float]:
    """Return mean score and share of success on the first `count` tasks."""
    rng = random.Random(0)
    scores, wins = [], []
    for task in env.tasks()[:count]:
        _, info = env.reset(seed=0, options={"task": task})
        terminated = truncated = False
        while not (terminated or truncated):
            _, _, terminated, truncated, info = env.step(agent(env, info, rng))
        scores.append(info["score"])
        wins.append(info["success"])
    assert len(scores) == count
    return sum(scores) / count, sum(wins) / count
