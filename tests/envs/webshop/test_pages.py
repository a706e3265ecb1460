"""Content of each page, in the order of the original's templates, and its clickable parts."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cairn.envs.webshop.catalogue import Catalogue
from cairn.envs.webshop.html import html
from cairn.envs.webshop.pages import Piece, State, clickables, pieces, text, text_rich
from cairn.envs.webshop.reward import Score
from tests.envs.webshop import tiny
from tests.envs.webshop.tiny import at_item

ASKED = "Find me bright lamps"
HEAD = f"Instruction: | {ASKED} | "
RESULTS = State(page="results", keywords=("lamp",), results=(1, 0))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return tiny.catalogue(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    names = (tiny.product(asin=f"N{number:02d}", name=f"Lamp {number}") for number in range(25))
    return tiny.catalogue(tmp_path_factory.mktemp("pages"), *names)


def shown(state: State, shop: Catalogue, *, show_attributes: bool = False) -> str:
    return text(pieces(state, shop, ASKED, show_attributes)).replace(" [SEP] ", " | ")


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (State(), f"WebShop | {HEAD}Search"),
        (
            RESULTS,
            f"{HEAD}Back to Search | Page 1 (Total results: 2) | Next > | LAMP000002 | Dim Floor Lamp | "
            "$25.0 | LAMP000001 | Acme Red Desk Lamp | $9.98 to $12.98",
        ),
        (
            replace(RESULTS, number=7),
            f"{HEAD}Back to Search | Page 7 (Total results: 2) | < Prev | Next >",
        ),
        (replace(RESULTS, results=()), f"{HEAD}Back to Search | Page 1 (Total results: 0) | Next >"),
        (
            at_item(0, options={"color": "red"}),  # the chosen value is not shown
            f"{HEAD}Back to Search | < Prev | color | red | coal grey | size | s | m | l | "
            "Acme Red Desk Lamp | Price: $9.98 to $12.98 | Rating: N.A. | Description | Features | "
            "Reviews | Buy Now",
        ),
        (
            at_item(2),
            f"{HEAD}Back to Search | < Prev | Mug | Price: $985.0 | Rating: N.A. | Description | "
            "Features | Reviews | Buy Now",
        ),
        (at_item(0, page="description"), f"{HEAD}Back to Search | < Prev | A lamp for <b>desks</b>."),
        (at_item(4, page="description"), f"{HEAD}Back to Search | < Prev"),  # it has none
        (at_item(0, page="features"), f"{HEAD}Back to Search | < Prev | Bright light | Long cord"),
        (at_item(0, page="reviews"), f"{HEAD}Back to Search | < Prev"),
        (
            at_item(0, page="attributes"),
            f"{HEAD}Back to Search | < Prev | bright | dimmable | garden | lamps | Home \u203a Lighting \u203a Lamps",
        ),
    ],
)
def test_a_page_shows(shop: Catalogue, state: State, expected: str) -> None:
    assert shown(state, shop) == expected


@pytest.mark.parametrize(("number", "first", "count"), [(1, "N00", 10), (2, "N10", 10), (3, "N20", 5), (4, None, 0)])
def test_a_page_of_results_has_ten_products(many: Catalogue, number: int, first: str | None, count: int) -> None:
    page = pieces(State(page="results", results=tuple(range(25)), number=number), many, ASKED)
    asins = [piece.text for piece in page if piece.kind == "product"]
    assert len(asins) == count
    assert next(iter(asins), None) == first
    assert ("< Prev" in clickables(page)) is False
    assert ("< prev" in clickables(page)) is (number > 1)


def test_the_button_of_the_attributes_is_shown_on_request(shop: Catalogue) -> None:
    assert shown(at_item(2), shop, show_attributes=True).endswith("Reviews | Attributes | Buy Now")


def test_the_last_page_shows_the_choice_and_the_reward_and_no_instruction(shop: Catalogue) -> None:
    score = Score(reward=0.75, type=1.0, title=1.0, attributes=1, options=1, price=True, parts={})
    state = at_item(0, page="done", options={"size": "<5'&", "color": 'r"\u00e9'}, score=score)
    expected = (
        "Thank you for shopping with us! | Your code: | None | (Paste it in your MTurk interface.) | Purchased | "
        r'asin | LAMP000001 | options | {"color": "r\"\u00e9", "size": "\u003c5\u0027\u0026"} | '
        "attrs | None | category | None | query | None | product category | None | Target | asin | options | attrs | "
        "price upper | instuction text | category | product category | query | Goal | None | Reward | "
        "Your score (min 0.0, max 1.0) | 0.75 | Reward Details | None"
    )
    assert shown(state, shop) == expected
    assert clickables(pieces(state, shop, ASKED)) == {}


def test_empty_texts_and_lone_line_ends_are_left_out_and_blank_ones_are_not(tmp_path: Path) -> None:
    odd = tiny.catalogue(
        tmp_path, tiny.product(name="", description=" \n", bullets=("", "\n"), options={"\n": ("", "x")})
    )
    assert shown(State(page="item", item=0), odd).startswith(f"{HEAD}Back to Search | < Prev | x | Price: ")
    assert shown(State(page="description", item=0), odd) == f"{HEAD}Back to Search | < Prev | "
    assert shown(State(page="features", item=0), odd) == f"{HEAD}Back to Search | < Prev |  | "


def test_buttons_come_first_then_products_then_options(shop: Catalogue) -> None:
    def said(state: State) -> list[str]:
        return list(clickables(pieces(state, shop, ASKED, show_attributes=True)))

    assert said(State()) == ["search"]
    assert said(replace(RESULTS, number=1)) == ["back to search", "next >", "lamp000002", "lamp000001"]
    assert said(replace(RESULTS, number=2)) == ["back to search", "< prev", "next >"]
    buttons = ["back to search", "< prev", "description", "features", "reviews", "attributes", "buy now"]
    assert said(at_item(0)) == [*buttons, "red", "coal grey", "s", "m", "l"]
    assert said(at_item(0, page="features")) == ["back to search", "< prev"]


def test_an_option_called_like_a_button_takes_its_place(shop: Catalogue) -> None:
    links = clickables(pieces(at_item(3), shop, ASKED))
    assert links["description"] == Piece("option", "description", "style")
    assert list(links) == [
        "back to search",
        "< prev",
        "description",
        "features",
        "reviews",
        "buy now",
        "next >",
        "plain",
    ]


def test_of_options_with_one_value_the_last_counts(shop: Catalogue) -> None:
    links = clickables(pieces(at_item(4), shop, ASKED))
    assert [links[value].name for value in ("one", "two", "three")] == ["color", "shade", "shade"]


def rich(state: State, shop: Catalogue) -> str:
    return text_rich(pieces(state, shop, ASKED), state, shop)


def test_marked_text_marks_buttons_and_the_products_that_were_opened(shop: Catalogue) -> None:
    assert rich(State(), shop) == f"WebShop\nInstruction:\n{ASKED}\n[button] Search [button_]\n"
    assert rich(replace(RESULTS, visited=frozenset({0})), shop) == (
        f"Instruction:\n{ASKED}\n[button] Back to Search [button_]\nPage 1 (Total results: 2)\n"
        "[button] Next > [button_]\n"
        "\n[button] LAMP000002 [button_]\nDim Floor Lamp\n$25.0\n"
        "\n[clicked button] LAMP000001 [clicked button_]\nAcme Red Desk Lamp\n$9.98 to $12.98\n"
    )


def test_marked_text_lists_the_choice_lowest_on_the_page_first(shop: Catalogue) -> None:
    """The order of the clicks does not matter: the original goes down the page and puts each choice on top."""
    for options in ({"size": "m", "color": "red"}, {"color": "red", "size": "m"}):
        assert rich(at_item(0, options=options), shop) == (
            f"You have clicked m.\nYou have clicked red.\nInstruction:\n{ASKED}\n[button] Back to Search [button_]\n"
            "[button] < Prev [button_]\n"
            "color\n  [clicked button] red [clicked button_]\n  [button] coal grey [button_]\n"
            "size\n  [button] s [button_]\n  [clicked button] m [clicked button_]\n  [button] l [button_]\n"
            "Acme Red Desk Lamp\nPrice: $9.98 to $12.98\nRating: N.A.\n[button] Description [button_]\n"
            "[button] Features [button_]\n[button] Reviews [button_]\n[button] Buy Now [button_]\n"
        )


def test_marked_text_looks_for_a_choice_in_the_address_of_the_page_as_the_original_does(tmp_path: Path) -> None:
    """Between quotes, in the words searched for and the choices as JSON: names count too, and quotes hide a value."""
    values = ("a", "color", 'b"', "\u00e9")
    odd = tiny.catalogue(tmp_path, tiny.product(options={"color": values}))

    def clicked(state: State) -> list[str]:
        lines = rich(state, odd).splitlines()
        return [line[19:-18] for line in lines if line.startswith("  [clicked button] ")]

    assert clicked(State(page="item", item=0)) == []
    assert clicked(State(page="item", item=0, options={"color": "a"})) == ["a", "color"]
    assert clicked(State(page="item", item=0, options={"color": 'b"'})) == ["color"]
    assert clicked(State(page="item", item=0, options={"color": "\u00e9"})) == ["color"]
    assert clicked(State(page="item", item=0, keywords=("lamp", '"a"'))) == ["a"]


class _Texts(HTMLParser):
    """The tags and texts of a page, collected by a parser."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[list[tuple[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.append(attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_escapes_all_that_is_shown(shop: Catalogue) -> None:
    hostile = "<script>alert('x')</script>\"&amp;"
    page = [Piece(kind, hostile, hostile) for kind in ("text", "button", "product", "option")]
    found = _Texts(html(page))
    assert found.tags == ["body", "p", "button", "a", "label", "input"]
    assert found.attributes[-1] == [("type", "radio"), ("name", hostile), ("value", hostile)]
    assert [data for data in found.texts if data.strip()] == [hostile] * 4


def test_html_shows_the_pieces_of_the_page_and_a_bar_where_one_can_search(shop: Catalogue) -> None:
    for state in (State(), RESULTS, at_item(0), at_item(0, page="description")):
        page = pieces(state, shop, ASKED)
        found = _Texts(html(page))
        assert [data for data in found.texts if data.strip()] == [piece.text for piece in page]
        assert ('id="search_input"' in html(page)) is (state.page == "search")
