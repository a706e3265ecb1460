"""Parts of goals: their wording, the products that meet them, and whether a product can be found at all."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.envs.webshop.catalogue import SEARCH_RETURNS
from cairn.envs.webshop.goals import NO_LIMIT
from cairn.envs.webshop.variants._conditions import can_find, described, limited, meets, some_conditions
from tests.envs.webshop import tiny

BARS = tiny.product(
    query="granola bars",
    instruction="Find me gluten free, non gmo granola bars with real fruit, made for kids for school lunches",
)


@pytest.mark.parametrize(
    ("attributes", "options", "text"),
    [
        (("gluten free",), {}, "gluten free granola bars"),
        (("school lunches", "real fruit", "non gmo"), {}, "non gmo granola bars with real fruit for school lunches"),
        (("non gmo", "gluten free"), {"size": "6 count"}, "non gmo, gluten free granola bars (size: 6 count)"),
        (("real fruit",), {"size": "6", "a": "b"}, "granola bars with real fruit (size: 6, a: b)"),
        (
            ("low sugar", "school lunches"),
            {},
            "granola bars with low sugar for school lunches",
        ),  # not in its instruction
        ((), {}, "granola bars"),
    ],
)
def test_attributes_are_worded_like_the_products_instruction(
    attributes: tuple[str, ...], options: dict[str, str], text: str
) -> None:
    assert described(BARS, attributes, options) == text


def test_a_product_without_an_instruction_can_be_described_too() -> None:
    assert described(replace(BARS, instruction=None), ("vegan",), {}) == "granola bars with vegan"


def test_price_limits_are_worded_like_those_of_the_base_goals() -> None:
    assert limited(60.0) == ", and price lower than 60.00 dollars"
    assert limited(NO_LIMIT) == ""


def test_attributes_are_met_as_in_the_base_reward_regardless_of_other_parts_of_the_goal() -> None:
    asked = tiny.goal(attributes=("soft", "red"), options={"size": "m"}, price_limit=0.01, name="Nothing Alike")
    assert meets(tiny.product(attributes=("soft",)), "soft", asked)
    assert meets(tiny.product(description="So soft."), "soft", asked)
    assert not meets(tiny.product(attributes=("soft",)), "red", asked)


def test_parts_of_a_goal_are_each_yielded_once_and_have_an_attribute() -> None:
    asked = tiny.goal(attributes=("a", "b", "c"), options={"size": "m", "color": "red"})
    for max_options, choices in ((0, 1), (1, 3), (2, 4)):
        parts = list(some_conditions(asked, max_options, random.Random(0)))
        kinds = {(frozenset(attributes), frozenset(options.items())) for attributes, options in parts}
        assert len(parts) == len(kinds) == 7 * choices  # seven sets of three attributes that are not empty
        assert all(attributes and set(attributes) <= {"a", "b", "c"} for attributes, _ in parts)
        assert max(len(options) for _, options in parts) == max_options
    first, second = (list(some_conditions(asked, 1, random.Random(seed))) for seed in (0, 1))
    assert first != second


def test_many_attributes_are_cut_to_a_few() -> None:
    asked = tiny.goal(attributes=tuple("abcdefghij"))
    parts = list(some_conditions(asked, 0, random.Random(0)))
    assert len(parts) == 2**4 - 1
    assert len({each for attributes, _ in parts for each in attributes}) == 4


def test_a_product_is_found_by_its_name_or_by_its_whole_text(tmp_path: Path) -> None:
    """Of products that are all alike, a search returns the first by asin; the last one's description is its own."""
    alike = [tiny.product(asin=f"A{number:09}") for number in range(SEARCH_RETURNS + 2)]
    catalogue = tiny.catalogue(tmp_path, *alike[:-1], replace(alike[-1], description="unheard of"))
    found = [can_find(catalogue, number) for number in range(len(catalogue))]
    assert found == [True] * SEARCH_RETURNS + [False, True]
