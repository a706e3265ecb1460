"""The shop's pages as lists of pieces, in page order, and their clickable elements.

Pieces are the texts of the original's templates; empty texts and lone line ends are left out, and blank ones are not,
as in the original. `text` and `text_rich` write them like the original's observation modes of these names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cairn.envs.webshop.catalogue import Catalogue
from cairn.envs.webshop.products import Product
from cairn.envs.webshop.reward import Score

PER_PAGE = 10
Page = Literal["search", "results", "item", "description", "features", "reviews", "attributes", "done"]
SUB_PAGES: tuple[Page, ...] = ("description", "features", "reviews", "attributes")
SEARCH, BACK, PREV, NEXT, BUY = "Search", "Back to Search", "< Prev", "Next >", "Buy Now"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of a session; immutable."""

    page: Page = "search"
    keywords: tuple[str, ...] = ()
    results: tuple[int, ...] = ()  # numbers of the products found, best first
    number: int = 1  # page of the results
    item: int | None = None  # number of the current product
    options: Mapping[str, str] = field(default_factory=dict)  # in the order of choosing
    visited: frozenset[int] = frozenset()  # products whose page was opened since the last search page
    score: Score | None = None  # of the purchase


@dataclass(frozen=True, slots=True)
class Piece:
    """One text of a page."""

    kind: Literal["text", "button", "product", "option"]
    text: str
    name: str = ""  # the option's name


def pieces(state: State, catalogue: Catalogue, instruction: str, show_attributes: bool = False) -> list[Piece]:
    """Return the pieces of a page."""
    if state.page == "done":
        shown = _done(state, catalogue)
    else:
        shown = [_text("Instruction:"), _text(instruction), *_body(state, catalogue, show_attributes)]
        if state.page == "search":
            shown.insert(0, _text("WebShop"))
    return [piece for piece in shown if piece.text not in ("", "\n")]


def clickables(page: list[Piece]) -> dict[str, Piece]:
    """Return the clickable pieces by label: buttons, products, options.

    Of options with equal values, the last counts.
    """
    out = {piece.text.lower(): piece for kind in ("button", "product") for piece in page if piece.kind == kind}
    return {**out, **{piece.text: piece for piece in page if piece.kind == "option"}}


def text(page: list[Piece]) -> str:
    """Return the pieces joined by the original's separator; chosen options are not marked."""
    return " [SEP] ".join(piece.text.strip() for piece in page)


def text_rich(page: list[Piece], state: State, catalogue: Catalogue) -> str:
    """Return one piece per line, with marks around clickable and clicked ones."""
    chosen = f"{'+'.join(state.keywords)}{json.dumps(dict(state.options))}"  # as in the original's address of the page
    opened = {catalogue.asin(number) for number in state.visited}
    lines, clicked = [], []
    for piece in page:
        is_clicked = piece.text in opened if piece.kind == "product" else f'"{piece.text}"' in chosen
        mark = ("[clicked button]", "[clicked button_]") if is_clicked else ("[button]", "[button_]")
        if piece.kind == "text":
            lines.append(piece.text)
        elif piece.kind == "button":
            lines.append(f"[button] {piece.text} [button_]")
        elif piece.kind == "product":
            lines.append(f"\n{mark[0]} {piece.text} {mark[1]}")
        else:
            lines.append(f"  {mark[0]} {piece.text} {mark[1]}")
            if is_clicked:
                clicked.append(f"You have clicked {piece.text}.\n")
    return "".join(reversed(clicked)) + "".join(f"{line}\n" for line in lines)


def _body(state: State, catalogue: Catalogue, show_attributes: bool) -> list[Piece]:
    if state.page == "search":
        return [_button(SEARCH)]
    if state.page == "results":
        return _results(state, catalogue)
    assert state.item is not None  # every other page is of a product
    product = catalogue[state.item]
    if state.page == "item":
        return _item(product, show_attributes)
    return [_button(BACK), _button(PREV), *_details(state.page, product)]


def _results(state: State, catalogue: Catalogue) -> list[Piece]:
    shown = [_button(BACK), _text(f"Page {state.number} (Total results: {len(state.results)})")]
    if state.number > 1:
        shown.append(_button(PREV))
    shown.append(_button(NEXT))
    for number in state.results[(state.number - 1) * PER_PAGE : state.number * PER_PAGE]:
        product = catalogue[number]
        shown += [Piece("product", product.asin), _text(product.name), _text(product.price_text)]
    return shown


def _item(product: Product, show_attributes: bool) -> list[Piece]:
    shown = [_button(BACK), _button(PREV)]
    for name, values in product.options.items():
        shown += [_text(name), *(Piece("option", value, name) for value in values)]
    shown += [_text(product.name), _text(f"Price: {product.price_text}"), _text("Rating: N.A.")]
    shown += [_button("Description"), _button("Features"), _button("Reviews")]
    if show_attributes:
        shown.append(_button("Attributes"))
    return [*shown, _button(BUY)]


def _details(page: Page, product: Product) -> list[Piece]:
    if page == "description":
        return [_text(product.description)]
    if page == "features":
        return [_text(f" {bullet}") for bullet in product.bullets]
    if page == "attributes":
        about = (product.category, product.query, product.product_category)
        return [*(_text(f" {attribute}") for attribute in product.attributes), *map(_text, about)]
    return []


def _done(state: State, catalogue: Catalogue) -> list[Piece]:
    """Return the original's last page, whose template gets only a few of its values."""
    assert state.item is not None  # something was bought
    assert state.score is not None
    options = json.dumps(dict(state.options), sort_keys=True)
    for mark in "<>&'":
        options = options.replace(mark, f"\\u{ord(mark):04x}")
    shown = [
        "Thank you for shopping with us!",
        "Your code: ",
        "None",
        " (Paste it in your MTurk interface.)",
        "Purchased",
    ]
    shown += ["asin", catalogue.asin(state.item), "options", options]
    for name in ("attrs", "category", "query", "product category"):
        shown += [name, "None"]
    shown += ["Target", "asin", "options", "attrs", "price upper", "instuction text", "category", "product category"]
    shown += ["query", "Goal ", "None", "Reward", "Your score (min 0.0, max 1.0)", str(state.score.reward)]
    return [_text(piece) for piece in [*shown, "Reward Details ", "None"]]


def _text(text: str) -> Piece:
    return Piece("text", text)


def _button(text: str) -> Piece:
    return Piece("button", text)
