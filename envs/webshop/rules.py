"""The effects of actions: the original's rules as functions from state to state.

``search[words]`` works on every page except the last, ``click[x]`` if x is clickable. Other actions have no effect.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from cairn.envs.webshop.catalogue import SEARCH_RETURNS, Catalogue
from cairn.envs.webshop.pages import BACK, BUY, NEXT, PREV, SEARCH, SUB_PAGES, Piece, State

S = TypeVar("S", bound=State)  # additional fields of a subclass of `State` stay unchanged
_TAKEN = {SEARCH.lower(), BACK.lower(), PREV.lower(), BUY.lower(), *SUB_PAGES}  # labels of buttons and pages


def parse(action: str) -> tuple[str, str | None]:
    """Return an action's name and argument: the text before and inside the last square brackets.

    Only the first line counts. The argument is None if there are no brackets or they are empty. Text after the brackets
    is ignored.
    """
    line = action.partition("\n")[0]
    end = line.rfind("]")
    begin = line.rfind("[", 1, max(end - 1, 0))
    return (line[:begin], line[begin + 1 : end]) if begin > 0 else (action, None)


def search(state: S, catalogue: Catalogue, query: str, rng: random.Random) -> S:
    """Return the first page of a search's results; clears the chosen options."""
    keywords = tuple(query.split(" "))
    return replace(
        state,
        page="results",
        keywords=keywords,
        results=_find(catalogue, keywords, rng),
        number=1,
        item=None,
        options={},
    )


def click(state: S, catalogue: Catalogue, label: str, links: Mapping[str, Piece]) -> S:
    """Return the state after a click on a clickable element; the caller handles purchases."""
    page = state.page
    if label == BACK.lower():
        return replace(
            state, page="search", keywords=(), results=(), number=1, item=None, options={}, visited=frozenset()
        )
    if label in (NEXT.lower(), PREV.lower()) and page == "results":
        step = 1 if label == NEXT.lower() else -1
        return replace(state, number=state.number + step, item=None, options={})
    if label == PREV.lower():
        return replace(state, page="results", item=None, options={}) if page == "item" else replace(state, page="item")
    if label in SUB_PAGES:
        return replace(state, page=label)
    piece = links[label]
    if piece.kind == "option":
        return replace(state, page="item", options={**state.options, piece.name: piece.text})
    number = catalogue.find(piece.text)
    assert number is not None  # results are products of the catalogue
    return replace(state, page="item", item=number, visited=state.visited | {number})


def can_choose(value: str) -> bool:
    """Return whether a click can choose this option value.

    The click must parse to the value, and the value must not be a button's label.
    """
    return parse(f"click[{value}]") == ("click", value) and value not in _TAKEN


def is_purchase(label: str) -> bool:
    """Return whether a click buys the current product."""
    return label == BUY.lower()


def _find(catalogue: Catalogue, keywords: tuple[str, ...], rng: random.Random) -> tuple[int, ...]:
    """Return the search results.

    Supports the original's special first words except ``<a>``, which fails in the original and here finds nothing.
    """
    first, rest = keywords[0], " ".join(keywords[1:]).strip()
    if first == "<r>":
        return tuple(rng.sample(range(len(catalogue)), min(SEARCH_RETURNS, len(catalogue))))
    if first == "<c>":
        return catalogue.of_group("category", keywords[1].strip() if len(keywords) > 1 else "")
    if first == "<q>":
        return catalogue.of_group("query", rest)
    if first == "<a>":
        return ()
    return catalogue.search(" ".join(keywords))
