"""The reward, clause by clause, with the arithmetic; and the reward of buying exactly the requested product."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cairn.envs.webshop.goals import NO_LIMIT
from cairn.envs.webshop.nouns import stub
from cairn.envs.webshop.reward import COLORS, Score, normalize_color, score
from cairn.envs.webshop.shop import open_shop
from tests.envs.webshop import tiny


def of(
    product: Mapping[str, Any] | None = None, chosen: Mapping[str, str] | None = None, price: float = 10.0, **goal: Any
) -> Score:  # Any: fields of several types
    return score(tiny.product(**(product or {})), price, chosen or {}, tiny.goal(**goal), stub)


def test_every_clause_counts_once() -> None:
    """Attributes soft (own) and long (missing), options red (chosen) and xl (not), price within: (1 + 1 + 1) / 5."""
    found = of(
        {"attributes": ("soft",)},
        {"color": "red"},
        attributes=("soft", "long"),
        options=("red", "xl"),
        price_limit=10.0,
    )
    parts = {"attributes": 1 / 5, "options": 1 / 5, "price": 1 / 5, "type": 0.0}
    assert found == Score(reward=3 / 5, type=1.0, title=1.0, attributes=1, options=1, price=True, parts=parts)


def test_a_product_of_another_type_loses_the_values_of_its_clauses() -> None:
    """As above, with another query: 0.5 * (1 + 1 + 1) / 5; the loss is 0.5 * 3 / 5."""
    found = of(
        {"attributes": ("soft",), "query": "other", "product_category": "other", "name": "soft rug of wool and silk"},
        {"color": "red"},
        name="rug one two three four five six",
        attributes=("soft", "long"),
        options=("red", "xl"),
        price_limit=10.0,
    )
    assert (found.type, found.reward) == (0.5, 0.5 * 3 / 5)
    assert found.parts == {"attributes": 1 / 5, "options": 1 / 5, "price": 1 / 5, "type": -0.5 * (3 / 5)}
    assert sum(found.parts.values()) == pytest.approx(found.reward, abs=1e-12)


@pytest.mark.parametrize(("price", "is_within"), [(49.99, True), (50.0, True), (50.01, False)])
def test_a_price_may_be_the_limit(price: float, is_within: bool) -> None:
    found = of({"attributes": ("soft",)}, price=price, price_limit=50.0)
    assert (found.price, found.reward) == (is_within, 1.0 if is_within else 1 / 2)


def test_without_a_limit_every_price_is_within() -> None:
    assert of(price=99_999.0, price_limit=NO_LIMIT).price


@pytest.mark.parametrize(
    ("product", "attribute", "is_met"),
    [
        ({"attributes": ("machine washable",)}, "machine washable", True),
        ({"attributes": ("washable machine",)}, "machine washable", True),  # the set of words counts
        ({"attributes": ("machine washable cotton",)}, "machine washable", True),
        ({"attributes": ("Machine-Washable!",)}, "machine washable", True),
        ({"attributes": ("hand washable",)}, "machine washable", False),
        ({"name": "Soft MACHINE Washable Rug"}, "machine washable", True),
        ({"bullets": ("it is Machine", "Washable")}, "machine washable", True),  # bullets are joined by blanks
        ({"description": "machine\nwashable"}, "machine washable", False),
        ({"description": "Is machine washablex"}, "machine washable", True),  # contained, not a word
        ({"description": "machine washable"}, "Machine Washable", False),  # the goal's own case is kept
        ({"query": "machine washable", "options": {"a": ("machine washable",)}}, "machine washable", False),
    ],
)
def test_an_attribute_is_met_by_the_products_own_or_by_its_texts(
    product: dict[str, Any], attribute: str, is_met: bool
) -> None:
    assert of(product, attributes=(attribute,)).attributes == is_met


@pytest.mark.parametrize(
    ("own", "asked", "is_met"),
    [
        ("abc", "abcd", True),  # 1 - 1/7 = 85.71, rounded 86
        ("a" * 23 + "b" * 4, "a" * 23 + "c" * 4, False),  # 1 - 8/54 = 85.19, above 85 and rounded 85
        ("abcde", "abcxde", True),  # 1 - 1/11 = 90.9
        ("abc", "abxd", False),  # 1 - 3/7
        ("ab\u00e9\u00e9", "ab", True),  # characters that are not ASCII are dropped
        ("\u6f22", "\u6f22", False),  # nothing is left, which is like nothing
        ("x-large", "x large", True),
    ],
)
def test_alike_is_a_rounded_ratio_above_85(own: str, asked: str, is_met: bool) -> None:
    assert of({"attributes": (own,)}, attributes=(asked,)).attributes == is_met
    assert of(chosen={"size": own}, options=(asked,)).options == is_met


def met(chosen: Mapping[str, str], **asked: str) -> int:
    """Return how many of a synthetic goal's options these are."""
    return of(chosen=chosen, options=asked).options


@pytest.mark.parametrize(
    ("bought", "asked", "is_met"),
    [
        ("red", "red", True),
        ("red", "blue", False),
        ("coal grey", "coal grey", True),  # bought: grey; asked: ('color', 'coal grey'), of which grey is a word
        ("slate grey", "coal grey", True),  # so is any other grey
        ("coal black", "coal grey", False),
        ("228blue", "228blue", False),  # bought: blue, which is not a word of ('color', '228blue')
        ("navy blue", "navy blue", True),  # blue stands first in the list, navy or not
        ("sky blue", "navy blue", True),
        ("dark red", "dark blue", True),  # dark stands before red
        ("dashing", "ash", True),  # ash is in it
        ("xx-large", "xx-large", True),
        ("large", "xx-large", True),  # all its words are asked for
        ("xx-large", "large", False),
        ("8.5", "8.5", True),
    ],
)
def test_a_synthetic_goals_options_are_pairs_of_which_a_colour_is_a_whole_part(
    bought: str, asked: str, is_met: bool
) -> None:
    assert met({"color": bought}, color=asked) == is_met


def test_the_name_of_a_pair_counts_for_its_likeness_and_not_for_the_choice() -> None:
    assert met({"size": "red"}, color="red") == 1  # chosen under another name
    assert met({"size": "color"}, color="xl") == 1  # the asked pair has that word
    assert met({}, color="red") == 0


def test_each_option_that_is_asked_for_counts_once_however_often_it_is_met() -> None:
    assert met({"color": "red", "shade": "red"}, color="red") == 1
    assert met({"color": "red"}, color="red", shade="red") == 2
    assert met({"color": "red", "size": "s"}, color="red", size="m") == 1


@pytest.mark.parametrize(
    ("bought", "asked", "is_met"),
    [("228blue", "228blue", True), ("sky blue", "navy blue", True), ("coal grey", "coal", False), ("xl", "xl", True)],
)
def test_a_human_goals_options_are_texts_of_which_both_sides_are_normalised(
    bought: str, asked: str, is_met: bool
) -> None:
    assert of(chosen={"color": bought}, options=(asked,)).options == is_met


def test_the_first_colour_of_the_list_replaces_the_whole() -> None:
    assert len(COLORS) == 102
    assert list(COLORS) == sorted(COLORS)  # the original's order
    assert normalize_color("white and black") == "black"
    assert normalize_color("natural light") == "light"
    assert normalize_color("plain") == "plain"
    assert normalize_color(("color", "coal grey")) == ("color", "coal grey")
    assert normalize_color(("red", "x")) == "red"


FIVE = "alpha beta gamma delta epsilon"
APART = {"query": "other", "product_category": "Elsewhere"}


@pytest.mark.parametrize(
    ("name", "goal_name", "more", "title", "kind"),
    [
        ("Plain Thing", "Plain Thing", {}, 1.0, 1.0),
        ("x", FIVE, {}, 0.0, 0.0),  # no word in common: nothing, even if found by the same query
        ("alpha", FIVE, APART, 0.2, 0.5),  # a fifth is not more than a fifth
        ("alpha", FIVE, {"product_category": "Elsewhere"}, 0.2, 1.0),  # the same query
        ("alpha", FIVE, {"query": "other"}, 0.2, 1.0),  # two parts of the path
        ("alpha beta", FIVE, APART, 0.4, 1.0),
        ("alpha", "alpha beta gamma delta", APART, 0.25, 1.0),
        ("alpha", f"{FIVE} a b c d e", {}, 0.1, 1.0),  # a tenth is not under a tenth
        ("alpha", f"{FIVE} a b c d e", APART, 0.1, 0.5),
        ("alpha", f"{FIVE} a b c d e f", {}, 1 / 11, 0.1),  # under a tenth, even if found by the same query
        ("alpha", "12 34", APART, 0.2, 0.5),  # a goal without nouns
        ("alpha", "12 34", {}, 0.2, 1.0),
        ("12", "alpha", {}, 0.0, 0.0),
        ("lamp lamp lamp", "lamp lamp red", APART, 1 / 3, 1.0),  # the goal's repetitions count, the product's do not
        ("lamp", " ".join(["lamp"] * 11), {}, 1 / 11, 0.1),
        ("ALPHA", "alpha", APART, 1.0, 1.0),
    ],
)
def test_the_type_follows_from_names_queries_and_paths(
    name: str, goal_name: str, more: dict[str, Any], title: float, kind: float
) -> None:
    found = of({"name": name, "attributes": ("soft",), **more}, name=goal_name)
    assert (found.title, found.type) == (title, kind)
    assert found.reward == kind * 2 / 2


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("Home \u203a Rugs", 1.0),
        ("Rugs\u203aHome", 1.0),  # in any order
        ("Home \u203a Lamps", 0.5),
        ("Home \u203a Home", 0.5),  # one part, twice
        ("Home > Rugs", 0.5),  # another mark
        ("", 0.5),
    ],
)
def test_two_common_parts_of_the_category_path_make_the_same_type(path: str, kind: float) -> None:
    found = of(
        {"name": "alpha", "query": "other", "product_category": path}, name=FIVE, product_category="Home \u203a Rugs"
    )
    assert found.type == kind


def test_buying_exactly_the_requested_product_does_not_always_score_1() -> None:
    """The original's ceiling on the 1,000 products."""
    tiny.data_folder()
    shop = open_shop("webshop-1000", "synthetic", 0, 233, 0, 0)
    is_full = []
    for goal in shop.goals:
        assert isinstance(goal.options, Mapping)
        product, price = shop.catalogue[goal.product], float(shop.goals.prices[goal.product])
        found = score(product, price, goal.options, goal, stub)
        assert (found.attributes, found.type, found.price) == (len(goal.attributes), 1.0, True)
        is_full.append(found.reward == 1.0)
    assert (sum(is_full), sum(is_full[:500])) == (6452, 480)
