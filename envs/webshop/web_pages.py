"""The web shop's pages as HTML documents: the text shop's pieces, laid out for people and with roles for programs.

A page is a function of the episode's state, its notice and whether it is over; none shows a turn, a token or a time, so
that equal states look equal. Everything shown is escaped, and what HTML cannot carry is replaced: product texts come
from anybody. No scripts, no images, nothing from elsewhere.

Buttons post what to click. Products are buttons with the role of links, and options buttons with the role of radio
buttons: one press is one action of the shop, so a page never shows a choice that the shop has not stored. What can be
clicked is what the environment shows, for environments made of the web shop too; pages of their own are plain lists.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.pages import BACK, NEXT, PER_PAGE, PREV, SEARCH, SUB_PAGES, Piece, State, clickables, pieces
from cairn.envs.webshop.products import Product
from cairn.envs.webshop.web_episodes import WebEpisode

TEMPLATES = Path(__file__).with_name("templates")
_NOT_IN_HTML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)")


def carried(text: str) -> str:
    """Return what is left of a text in an HTML document: no control characters, no lone surrogates."""
    return _NOT_IN_HTML.sub("\ufffd", text)


def _finalize(value: object) -> object:
    is_ours = hasattr(value, "__html__")  # what a macro made: escaped already, and to be left so
    return carried(value) if isinstance(value, str) and not is_ours else value


_templates = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_finalize,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True, slots=True)
class Control:
    """Something to click."""

    label: str  # as in ``click[label]``
    text: str  # shown
    is_chosen: bool = False
    is_there: bool = True  # whether the environment offers it


@dataclass(frozen=True, slots=True)
class Found:
    """A product on a page of results."""

    link: Control
    asin: str
    price: str


def page(env: WebShopEnv, episode: WebEpisode) -> str:
    """Return the page that an episode is at."""
    state, instruction = episode.state, env.instruction(episode.info["task_id"])
    product = None if state.item is None else env.shop.catalogue[state.item]
    kind, notes = _kind(env, episode, instruction)
    nav, details, actions = _buttons(episode.page, kind)
    return _templates.get_template(f"{kind}.html").render(
        state=state,
        mark=episode.mark,
        notice=episode.notice,
        has_ended=episode.has_ended,
        truncated=episode.truncated,
        instruction=instruction,
        nav=nav,
        details=details,
        actions=actions,
        notes=notes,
        product=product,
        options=_options(episode.page, state, product) if product is not None else {},
        found=_found(env, state) if kind == "results" else [],
        num_found=len(state.results),
        first=(state.number - 1) * PER_PAGE + 1,
        pieces=_below_instruction(episode.page, instruction),
    )


def start_page(env: WebShopEnv, task: str, capacity: int) -> str:
    """Return the page on which a person starts an episode."""
    return _templates.get_template("start.html").render(
        task=task, num_tasks=len(env.tasks()), turn_limit=env.turn_limit, capacity=capacity
    )


def error_page(status: int, message: str, *, can_start: bool) -> str:
    """Return the page that says what was wrong with a request; `can_start`: whether visitors start episodes."""
    return _templates.get_template("error.html").render(status=status, message=message, can_start=can_start)


def label_of(episode: WebEpisode, posted: str) -> str:
    """Return what a form meant to click: the label itself, or the one that HTML could not carry whole."""
    links = clickables(list(episode.page))
    return posted if posted in links else next((label for label in links if carried(label) == posted), posted)


def _kind(env: WebShopEnv, episode: WebEpisode, instruction: str) -> tuple[str, list[str]]:
    """Return the template for a page, and texts that the page has beyond the base shop's.

    Environments made of the web shop may show more, or another page altogether; the latter is "pieces".
    """
    state = episode.state
    if state.page == "done" and state.score is None:
        return "pieces", []
    base = pieces(state, env.shop.catalogue, instruction, env.config.show_attributes)
    more, expected = (Counter(piece.text for piece in some if piece.kind == "text") for some in (episode.page, base))
    notes = list((more - expected).elements())
    if expected - more or (notes and state.page != "item"):
        return "pieces", []
    return (state.page if state.page in ("search", "results", "item", "done") else "details"), notes


def _buttons(shown: Sequence[Piece], kind: str) -> tuple[list[Control], list[Control], list[Control]]:
    """Return a page's buttons: those at its top, those that tell more about a product, and the others.

    Pages shown piece by piece have the others in their places; only item pages have them apart.
    """
    buttons = [Control(piece.text.lower(), piece.text) for piece in shown if piece.kind == "button"]
    nav = [button for button in buttons if button.text in (BACK, PREV, NEXT)]
    if kind == "pieces":
        return nav, [], []
    if kind != "item":
        return [button for button in buttons if button.text != SEARCH], [], []
    details = [button for button in buttons if button.label in SUB_PAGES]
    return nav, details, [button for button in buttons if button not in (*nav, *details)]


def _options(shown: Sequence[Piece], state: State, product: Product) -> dict[str, list[Control]]:
    """Return a product's options: name -> values."""
    there = {(piece.name, piece.text) for piece in shown if piece.kind == "option"}
    return {
        name: [Control(v, v, state.options.get(name) == v, (name, v) in there) for v in values if v not in ("", "\n")]
        for name, values in product.options.items()
    }


def _found(env: WebShopEnv, state: State) -> list[Found]:
    first = (state.number - 1) * PER_PAGE
    products = [env.shop.catalogue[number] for number in state.results[first : first + PER_PAGE]]
    return [Found(Control(p.asin.lower(), p.name.strip() or p.asin), p.asin, p.price_text) for p in products]


def _below_instruction(shown: Sequence[Piece], instruction: str) -> Sequence[Piece]:
    """Return what stands under the instruction, without the buttons that every page has at its top."""
    begin = 0
    for text in ("Instruction:", instruction):
        begin += shown[begin : begin + 1] == (Piece("text", text),)
    return [piece for piece in shown[begin:] if piece.kind != "button" or piece.text not in (BACK, PREV, NEXT)]
