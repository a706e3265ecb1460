"""Agents without a model: what they choose, and how they are named."""

from __future__ import annotations

import pytest

from cairn.agents.scripted import is_scripted, scripted
from cairn.core.errors import UnknownNameError
from cairn.core.records import Observation
from examples.doors import Doors

SEEN = Observation(text="", anchor=0, admissible=("take key", "wait"))
UNLISTED = Observation(text="", anchor=0)


def doors() -> Doors:
    env = Doors()
    env.reset(options={"task": "red-0"})
    return env


@pytest.mark.parametrize("name", ["oracle", "oracle:reader"])
def test_an_oracle_says_what_the_environment_says(name: str) -> None:
    env = doors()
    choose = scripted(name, env)
    assert choose(SEEN) == "take key"
    env.step("take key")
    assert choose(SEEN) == "open red"


def test_an_oracle_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'reader'"):
        scripted("oracle:raeder", doors())(SEEN)


def test_chance_follows_its_seed_and_knows_every_action() -> None:
    found = [[scripted("random", doors(), seed)(SEEN) for _ in range(5)] for seed in range(40)]
    assert found == [[scripted("random", doors(), seed)(SEEN) for _ in range(5)] for seed in range(40)]
    assert {row[0] for row in found} == {"take key", "wait"}
    choose = scripted("random", doors())
    assert len({choose(SEEN) for _ in range(40)}) == 2


def test_chance_says_something_where_no_actions_are_listed() -> None:
    choose = scripted("random", doors())
    said = {choose(UNLISTED) for _ in range(20)}
    assert len(said) > 10
    assert all(1 <= len(text) <= 20 for text in said)


@pytest.mark.parametrize(
    ("name", "said"), [("constant:open red", "open red"), ("constant", "look"), ("constant:a:b", "a:b")]
)
def test_a_constant_is_always_said(name: str, said: str) -> None:
    choose = scripted(name, doors())
    assert [choose(SEEN), choose(UNLISTED)] == [said, said]


@pytest.mark.parametrize("name", ["oracle", "oracle:reader", "random", "constant:look"])
def test_names_of_scripted_agents(name: str) -> None:
    assert is_scripted(name)


@pytest.mark.parametrize("name", ["runs/oracle", "Qwen/Qwen3-0.6B", "./random", ""])
def test_other_names_are_models(name: str) -> None:
    assert not is_scripted(name)
    with pytest.raises(UnknownNameError):
        scripted(name, doors())
