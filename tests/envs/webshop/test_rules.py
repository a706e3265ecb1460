"""The effect of every action on every page, and how an action is parsed."""

from __future__ import annotations

import random
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cairn.envs.webshop import rules
from cairn.envs.webshop.catalogue import Catalogue
from cairn.envs.webshop.pages import State, clickables, pieces
from cairn.envs.webshop.rules import can_choose, is_purchase, parse
from tests.envs.webshop import tiny
from tests.envs.webshop.tiny import at_item

RESULTS = State(page="results", keywords=("soft", "rug"), results=(5, 4), visited=frozenset({5}))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return tiny.catalogue(tmp_path_factory.mktemp("rules"))


def click(state: State, shop: Catalogue, *labels: str) -> State:
    """Click one after another; each must be there."""
    for label in labels:
        links = clickables(pieces(state, shop, "", show_attributes=True))
        assert label in links
        state = rules.click(state, shop, label, links)
    return state


def search(state: State, shop: Catalogue, query: str, seed: int = 0) -> State:
    return rules.search(state, shop, query, random.Random(seed))


_AS_THE_ORIGINAL = re.compile(r"(.+)\[(.+)\]")


@given(st.text("a[]\n \r\u2028", max_size=12) | st.text(st.characters(exclude_categories=()), max_size=12))
@example("click[a]")
@example("\nclick[a]")
@example("click[a]\nclick[b]")
@example("click[a\n]")
@example("click[]]")
@example("click[[a]]")
@example("[[a]")
@example("[a]")
@example("a[b]c[]")
@example("a[b]c[d")
def test_actions_are_read_as_the_originals_pattern_reads_them(action: str) -> None:
    match = _AS_THE_ORIGINAL.match(action)
    assert parse(action) == ((action, None) if match is None else match.groups())


@pytest.mark.parametrize(
    ("action", "name", "argument"),
    [
        ("search[red lamp]", "search", "red lamp"),
        ("search [a]", "search ", "a"),
        ("I click[buy now] now", "I click", "buy now"),
        ("click[size [us 8]]", "click[size ", "us 8]"),
        ("click[a] click[b]", "click[a] click", "b"),
        ("search[]", "search[]", None),
        ("[lamp]", "[lamp]", None),
        ("search[lamp", "search[lamp", None),
        ("", "", None),
    ],
)
def test_an_action_is_a_name_and_the_text_in_the_last_brackets(action: str, name: str, argument: str | None) -> None:
    assert parse(action) == (name, argument)


@pytest.mark.parametrize("action", ["[" * 131_072, "]" * 131_072, "[]" * 65_536, "a[" * 65_536, "a[" + "]" * 131_072])
def test_hostile_brackets_are_read_in_no_time(action: str) -> None:
    begin = time.process_time()
    parse(action)
    assert time.process_time() - begin < 0.2


def test_a_search_shows_its_first_page_from_anywhere_and_resets_the_options(shop: Catalogue) -> None:
    found = State(page="results", keywords=("soft", "rug"), results=(5, 4))  # the shorter text first
    assert search(State(), shop, "soft rug") == found
    for state in (at_item(0, page="features", number=3, options={"color": "red"}), replace(RESULTS, number=9)):
        assert search(state, shop, "soft rug") == replace(found, visited=state.visited)
    assert search(State(), shop, "nothing such").results == ()


def test_words_are_parted_at_single_blanks(shop: Catalogue) -> None:
    assert search(State(), shop, "soft  rug ").keywords == ("soft", "", "rug", "")
    assert search(State(), shop, "soft  rug ").results == (5, 4)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("<c> garden", (0, 1, 4, 5)),
        ("<c> grocery x", (2, 3)),  # the next word alone
        ("<c>", ()),
        ("<c> lamps", ()),
        ("<q> lamps", (0, 1)),
        ("<q>  lamps ", (0, 1)),
        ("<q> garden", ()),
        ("<q>", ()),
        ("<a> bright", ()),  # the original cannot answer it in a text shop
        ("lamp <c> garden", (0, 1)),  # words that are special come first
        ("<c>garden", ()),
    ],
)
def test_special_first_words_list_a_category_or_a_query(shop: Catalogue, query: str, expected: tuple[int, ...]) -> None:
    assert search(State(), shop, query).results == expected


def test_the_special_word_r_draws_50_products(tmp_path: Path, shop: Catalogue) -> None:
    many = tiny.catalogue(tmp_path, *(tiny.product(asin=f"N{number:05d}") for number in range(80)))
    drawn = search(State(), many, "<r> whatever").results
    assert len(set(drawn)) == 50
    assert drawn == search(State(), many, "<r>").results
    assert drawn != search(State(), many, "<r>", seed=1).results
    assert sorted(search(State(), shop, "<r>").results) == list(range(6))  # all, if there are fewer


def test_pages_of_results_continue_without_end_and_back_to_the_first(shop: Catalogue) -> None:
    second = click(RESULTS, shop, "next >")
    assert second == replace(RESULTS, number=2)
    assert click(second, shop, "next >", "next >", "< prev") == replace(RESULTS, number=3)
    assert click(second, shop, "< prev") == RESULTS
    assert "< prev" not in clickables(pieces(RESULTS, shop, ""))


def test_a_product_is_opened_and_remembered(shop: Catalogue) -> None:
    opened = click(RESULTS, shop, "rug0000001")
    assert opened == replace(RESULTS, page="item", item=4, visited=frozenset({4, 5}))


def test_options_keep_the_order_of_choosing_and_can_be_replaced(shop: Catalogue) -> None:
    state = click(at_item(0), shop, "m", "red", "l")
    assert list(state.options.items()) == [("size", "l"), ("color", "red")]
    assert (state.page, state.item) == ("item", 0)
    assert click(at_item(4), shop, "two").options == {"shade": "two"}  # a value of two options is the last's


def test_pages_about_a_product_lead_back_to_it_with_its_options(shop: Catalogue) -> None:
    chosen = click(at_item(0), shop, "red")
    for name in ("description", "features", "reviews", "attributes"):
        about = click(chosen, shop, name)
        assert about == at_item(0, page=name, options={"color": "red"})
        assert click(about, shop, "< prev") == chosen


def test_leaving_a_product_clears_its_options_and_stays_on_the_page_of_results(shop: Catalogue) -> None:
    chosen = click(replace(at_item(0), number=3, visited=frozenset({0})), shop, "red", "s")
    left = click(chosen, shop, "< prev")
    assert left == replace(chosen, page="results", item=None, options={})
    assert (left.number, left.results, left.visited) == (3, chosen.results, frozenset({0}))


@pytest.mark.parametrize("page", ["results", "item", "description", "features", "reviews", "attributes"])
def test_back_to_search_clears_everything(shop: Catalogue, page: str) -> None:
    state = at_item(0, page=page, number=4, options={"color": "red"}, visited=frozenset({0, 1}))
    assert click(state, shop, "back to search") == State()


def test_options_named_like_buttons_act_like_those_buttons(shop: Catalogue) -> None:
    assert click(at_item(3), shop, "description").page == "description"
    assert click(at_item(3), shop, "next >").options == {"style": "next >"}  # no button of an item's page
    assert click(at_item(3), shop, "plain", "next >").options == {"style": "next >"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("red", True), ("next >", True), ("size 8", True), (" red ", True), ("a]b", True), ("\u00e9", True),
        ("", False), ("search", False), ("back to search", False), ("< prev", False), ("buy now", False),
        ("description", False), ("features", False), ("reviews", False), ("attributes", False),
        ("[us 8]", False), ("us [8", False), ("a\nb", False),
    ],
)  # fmt: skip
def test_a_value_can_be_chosen_if_an_action_can_contain_it_and_no_button_has_its_name(
    value: str, expected: bool
) -> None:
    assert can_choose(value) is expected


def test_only_buying_is_a_purchase() -> None:
    assert is_purchase("buy now")
    assert not any(map(is_purchase, ("Buy Now", "buy", "search")))


def test_later_clicks_do_not_change_earlier_states(shop: Catalogue) -> None:
    before = at_item(0, options={"color": "red"})
    click(before, shop, "s")
    click(before, shop, "coal grey")
    assert before == at_item(0, options={"color": "red"})
