"""Renders the text shop's pages as HTML documents for people and programs.

A page depends only on the episode's state, its notice and whether it is over. It shows no turn, token or time, so equal
states look equal. All texts are escaped, and characters that HTML cannot represent are replaced, since product texts
are untrusted. Pages have no scripts, no images, and no external resources.

Buttons post the label to click. Products are buttons with the role of links, and options buttons with the role of radio
buttons: one press is one action of the shop, so a page never shows a choice that the shop has not stored. The clickable
elements are those that the environment shows, also for environments derived from the web shop; their own additional
pages are plain lists.
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
    """Return a text with characters that HTML cannot represent replaced.

    These are control characters and lone surrogates.
    """
    return _NOT_IN_HTML.sub("\ufffd", text)


def _finalize(value: object) -> object:
    is_ours = hasattr(value, "__html__")  # output of a macro, which is already escaped
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
    """A clickable element."""

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
    """Return an episode's current page."""
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
    """Return the page with a request's error; `can_start`: whether visitors start episodes."""
    return _templates.get_template("error.html").render(status=status, message=message, can_start=can_start)


def label_of(episode: WebEpisode, posted: str) -> str:
    """Return the label that a form posted, or the label whose HTML form equals it."""
    links = clickables(list(episode.page))
    return posted if posted in links else next((label for label in links if carried(label) == posted), posted)


def _kind(env: WebShopEnv, episode: WebEpisode, instruction: str) -> tuple[str, list[str]]:
    """Return a page's template, and its texts beyond the base shop's.

    Derived environments may show more texts, or another page altogether; the latter has the template "pieces".
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
    """Return a page's buttons: at its top, for product details, and the others.

    Pages shown piece by piece have the others in their places; only item pages list them separately.
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
    """Return a product's options by name."""
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
    """Return the pieces below the instruction, without the buttons at the top of every page."""
    begin = 0
    for text in ("Instruction:", instruction):
        begin += shown[begin : begin + 1] == (Piece("text", text),)
    return [piece for piece in shown[begin:] if piece.kind != "button" or piece.text not in (BACK, PREV, NEXT)]
