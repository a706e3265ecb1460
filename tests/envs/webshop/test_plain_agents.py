"""Scores of trivial agents: nothing, little, and about half; so that a score is meaningful."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from cairn.envs.webshop.env import WebShopEnv
from tests.envs.webshop import tiny

Agent = Callable[[WebShopEnv, tuple[str, ...], random.Random], str]


def null(env: WebShopEnv, admissible: tuple[str, ...], rng: random.Random) -> str:
    return "nonsense"


def at_random(env: WebShopEnv, admissible: tuple[str, ...], rng: random.Random) -> str:
    return rng.choice(admissible)


def first_result(env: WebShopEnv, admissible: tuple[str, ...], rng: random.Random) -> str:
    """Search for the instruction, and buy the first product that is found, as it comes."""
    products = (label for label, piece in env.links.items() if piece.kind == "product")
    product = next(products, None)
    if product is not None:
        return f"click[{product}]"
    return next((action for action in admissible if action.startswith("search[")), "click[buy now]")


def play(env: WebShopEnv, agent: Agent) -> tuple[float, float]:
    """Return mean score and share of success on the first 100 tasks."""
    rng = random.Random(0)
    scores, wins = [], []
    for task in env.tasks()[:100]:
        _, info = env.reset(seed=0, options={"task": task})
        terminated = truncated = False
        while not (terminated or truncated):
            _, _, terminated, truncated, info = env.step(agent(env, info["admissible_actions"], rng))
        scores.append(info["score"])
        wins.append(info["success"])
    assert len(scores) == 100
    return sum(scores) / 100, sum(wins) / 100


# Upper bounds of an agent, a little above its values when this was written: score, share of success.
CEILINGS: dict[str, dict[Agent, tuple[float, float]]] = {
    "generated": {null: (0.0, 0.0), at_random: (0.2, 0.03), first_result: (0.65, 0.06)},
    "webshop-1000": {null: (0.0, 0.0), at_random: (0.16, 0.0), first_result: (0.59, 0.04)},
}


@pytest.mark.parametrize("agent", [null, at_random, first_result], ids=lambda agent: agent.__name__)
@pytest.mark.parametrize("source", CEILINGS)
def test_an_agent_without_a_mind_gets_at_most(source: str, agent: Agent) -> None:
    settings: dict[str, Any] = {"source": source, "split": "test"}  # Any: settings
    if source == "webshop-1000":
        tiny.data_folder()
        settings["splits"] = "original"
    score, success = play(WebShopEnv(**settings), agent)
    most_score, most_success = CEILINGS[source][agent]
    assert score <= most_score
    assert success <= most_success


def test_the_ceilings_can_be_broken() -> None:
    """By the buyer, on the same tasks."""
    score, success = play(WebShopEnv(split="test"), lambda env, admissible, rng: env.oracle())
    assert score > CEILINGS["generated"][first_result][0]
    assert success > CEILINGS["generated"][first_result][1]
