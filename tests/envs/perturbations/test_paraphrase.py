"""Paraphrased instructions keep every name, number and constraint; texts without a paraphrase are rejected."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import cast

import pytest

import cairn
from cairn.core.errors import CairnError, ConfigError
from cairn.envs.code import paraphrase as code
from cairn.envs.gui.tasks import make_task, templates
from cairn.envs.household import paraphrase as household
from cairn.envs.household.env import HouseholdEnv
from cairn.envs.household.goals import TASK_TYPES, Goal, TaskType
from cairn.envs.household.prompt import task_of
from cairn.envs.paraphrase import framed
from cairn.envs.perturbed import Perturbed
from cairn.envs.webshop import paraphrase as webshop
from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.goals import NO_LIMIT

MUST_SAY = {"pick_clean_then_place_in_recep": "clean", "pick_heat_then_place_in_recep": "hot|heat",
            "pick_cool_then_place_in_recep": "cool", "pick_two_obj_and_place": "two"}  # fmt: skip


@pytest.mark.parametrize("kind", TASK_TYPES)
def test_a_households_task_names_object_place_treatment_and_number(kind: TaskType) -> None:
    goal = Goal(task_type=kind, object_kind="soapbar", place_kind="toilet")
    for own in (goal.sentence(0), goal.sentence(1)):
        others = household.reworded(goal, own)
        assert len({*others, own}) == 5
        for said in others:
            assert task_of(said)[-1] == "."
            assert all(word in said for word in ("soapbar", "toilet"))
            assert re.search(MUST_SAY.get(kind, ""), said)
            assert ("two" in said) == (goal.count == 2)
            assert not re.search("clean|hot|heat|cool", said) or goal.treatment is not None


def test_a_households_sentence_that_its_goal_does_not_make_is_left_alone() -> None:
    goal = Goal(task_type="pick_and_place_simple", object_kind="mug", place_kind="desk")
    assert household.reworded(goal, "Your task is to: put a mug in desk, but not mug 2.") == ()


def shop() -> WebShopEnv:
    return cast(WebShopEnv, cairn.make("webshop", num_products=200))


def test_a_shops_goal_keeps_things_options_and_limit() -> None:
    env = shop()
    for task in env.tasks()[:20]:
        goal = env.goal(task)
        things = goal.instruction.removeprefix("Find me ").partition(" with ")[0].partition(", and price")[0]
        others = webshop.reworded(goal)
        assert len({*others, goal.instruction}) == 5
        for said in others:
            assert things in said
            assert isinstance(goal.options, dict)
            assert all(f"{name}: {value}" in said for name, value in goal.options.items())
            assert all(attribute in said for attribute in goal.attributes)
            assert (f"{goal.price_limit:.2f} dollars" in said) == (goal.price_limit != NO_LIMIT)
            assert ("less than" in said or "below" in said) == (goal.price_limit != NO_LIMIT)


@pytest.mark.parametrize(
    ("own", "first"),
    [
        ("i am looking for mugs, price lower than 60 dollars", "please find me mugs, price lower than 60 dollars"),
        ("i need to buy a mug", "please find me a mug"),
        ("i want a mug that i need to wash", "please find me a mug that i need to wash"),
        ("i need to be sure that it is a mug", "This is what it is about. i need to be sure that it is a mug"),
        ("Buy these 2 things: (1) mugs; (2) pens.", "Please buy these 2 things: (1) mugs; (2) pens."),
    ],
)  # fmt: skip
def test_a_shops_other_instructions_stay_whole_within_ours(own: str, first: str) -> None:
    env = shop()
    assert webshop.reworded(replace(env.goal("goal/0"), instruction=own))[0] == first


@pytest.mark.parametrize(
    ("own", "first"),
    [
        ("Archive the mail 'Keys'. It is old.", "Please archive the mail 'Keys'. It is old."),
        ("How many mails are there?", "I have a question: how many mails are there?"),
        ("The event 'A' moved. Change that.", "This is what it is about. The event 'A' moved. Change that."),
    ],
)
def test_any_text_gets_a_frame_that_suits_it(own: str, first: str) -> None:
    assert framed(own)[0] == first
    assert len(set(framed(own))) >= 3
    assert all(said.endswith(own[1:]) for said in framed(own))


def test_instructions_of_the_office_stay_whole() -> None:
    orders = 0
    for name in templates():
        own = make_task(name, 0).instruction
        assert all(said.endswith(own[1:]) for said in framed(own))
        orders += framed(own)[0].startswith("Please ")
    assert orders > len(templates()) / 3


def test_the_offices_description_of_its_tools_stays_in_front() -> None:
    said = code.reworded("Use `office`.\n\nTask: Pay 3 bills.")
    assert said[0] == "Use `office`.\n\nTask: Please pay 3 bills."
    assert code.reworded("Write a function.")[0] == "Please write a function."


@pytest.mark.parametrize("observation", ["text", "text_rich", "html"])
def test_every_page_and_the_search_of_a_shop_use_the_same_paraphrase(observation: str) -> None:
    env = cairn.make("webshop", num_products=200, observation=observation, perturb="paraphrase")
    assert isinstance(env, Perturbed)
    own = cast(WebShopEnv, env.plain).goal("goal/3").instruction
    text, info = env.reset(options={"task": "goal/3"})
    (search,) = info["admissible_actions"]
    said = search.removeprefix("search[").removesuffix("]")
    for shown in (text, env.step(search)[0]):
        assert said in shown
        assert own not in shown


def test_the_paraphrase_of_a_task_depends_only_on_the_perturbation_seed() -> None:
    def said(seed: int, reset_seed: int) -> list[str]:
        env = cairn.make("household", size="tiny", perturb={"paraphrase": {"seed": seed}})
        return [task_of(env.reset(seed=reset_seed, options={"task": task})[0]) for task in env.tasks()[:12]]

    assert said(0, 1) == said(0, 2)
    assert said(0, 1) != said(1, 1)


def test_an_environment_or_task_without_a_paraphrase_is_rejected() -> None:
    with pytest.raises(ConfigError, match="has no paraphrases"):
        cairn.make("tests.envs.faulty:Sound", perturb="paraphrase")
    env = cairn.make("household", size="tiny", perturb="paraphrase")
    assert isinstance(env, Perturbed)
    assert isinstance(env.plain, HouseholdEnv)
    with pytest.raises(CairnError, match="'t' of 'household' cannot be said in other words"):
        env.plain.phrase_instruction("t", "own", lambda: ())
