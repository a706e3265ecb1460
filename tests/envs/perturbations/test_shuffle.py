"""Unordered parts come in another order; ordered parts stay."""

from __future__ import annotations

from typing import Any

import pytest

import cairn
from cairn.core.errors import ConfigError
from cairn.envs.base import TextEnv
from cairn.envs.household.paraphrase import shuffle_lists
from cairn.envs.pool.pool import EnvPool, PoolConfig
from cairn.envs.webshop.pages import Piece
from cairn.envs.webshop.paraphrase import shuffled
from tests.envs.faulty import COLOURS, Sound


class Silent(Sound):
    """Offers nothing."""

    admissible = TextEnv.admissible


def backwards(listed: list[str]) -> list[str]:
    return listed[::-1]


def test_admissible_actions_are_the_same_in_another_order_that_the_task_and_the_seed_fix() -> None:
    orders = {}
    for seed in range(3):
        env = cairn.make("tests.envs.faulty:Sound", perturb={"shuffle": {"seed": seed}})
        for task in env.tasks()[:3]:
            _, info = env.reset(seed=7, options={"task": task})
            orders[seed, task] = info["admissible_actions"]
            assert env.reset(seed=8, options={"task": task})[1]["admissible_actions"] == orders[seed, task]
    assert {tuple(sorted(order)) for order in orders.values()} == {COLOURS}
    assert len(set(orders.values())) > 4


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("On the desk 1, you see a pen 1, a mug 2, and a book 2.",
         "On the desk 1, you see a book 2, a mug 2, and a pen 1."),
        ("On the desk 1, you see a pen 1, and a book 2.", "On the desk 1, you see a book 2, and a pen 1."),
        ("On the desk 1, you see a pen 1.", "On the desk 1, you see a pen 1."),
        ("On the desk 1, you see nothing.", "On the desk 1, you see nothing."),
        ("You are facing the desk 1, and bed 2. Next to it, you see nothing.",
         "You are facing the bed 2, and desk 1. Next to it, you see nothing."),
        ("You pick up the pen 1 from the desk 1.", "You pick up the pen 1 from the desk 1."),
    ],
)  # fmt: skip
def test_a_households_lists_turn_round_and_nothing_else(text: str, reported: str) -> None:
    assert shuffle_lists(text, backwards) == reported


def test_of_a_shops_page_only_values_of_one_option_change_places() -> None:
    size = [Piece("option", text, "size") for text in ("s", "m", "l")]
    colour = [Piece("option", text, "colour") for text in ("red", "blue")]
    found = [Piece("product", "b1"), Piece("product", "b2"), Piece("button", "Buy Now")]
    page = [Piece("text", "size"), *size, Piece("text", "colour"), *colour, *found]
    assert shuffled(page, backwards) == [
        Piece("text", "size"), *size[::-1], Piece("text", "colour"), *colour[::-1], *found,
    ]  # fmt: skip
    assert shuffled([*size, *colour], backwards) == [*size[::-1], *colour[::-1]]
    assert shuffled([], backwards) == []


def test_an_environment_that_lists_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="lists nothing"):
        cairn.make("tests.envs.perturbations.test_shuffle:Silent", perturb="shuffle")


def test_worker_processes_give_the_same_perturbed_observations() -> None:
    config: dict[str, Any] = {"size": "tiny", "perturb": {"paraphrase": {}, "rename": {"seed": 3}, "shuffle": {}}}
    plain = cairn.make("household", **config)
    with EnvPool("household", config, PoolConfig(kind="processes")) as pool, pool.lease() as env:
        for task in plain.tasks()[:3]:
            mine, theirs = (each.reset(seed=0, options={"task": task}) for each in (plain, env))
            assert mine == theirs
            assert plain.step(plain.oracle()) == env.step(env.oracle())
