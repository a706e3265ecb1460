"""Renders a page as plain HTML for agents.

All texts are escaped, since product texts are untrusted.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from cairn.envs.webshop.pages import SEARCH, Piece


def html(page: Iterable[Piece]) -> str:
    """Return the page's body: paragraphs, buttons, product links, and options as radio buttons."""
    return "<body>\n" + "".join(f"{_tag(piece)}\n" for piece in page) + "</body>"


def _tag(piece: Piece) -> str:
    shown = escape(piece.text)
    if piece.kind == "product":
        return f'<a class="product-link">{shown}</a>'
    if piece.kind == "option":
        return f'<label><input type="radio" name="{escape(piece.name)}" value="{shown}">{shown}</label>'
    if piece.kind == "button":
        bar = '<input id="search_input" type="text">' if piece.text == SEARCH else ""
        return f'{bar}<button class="btn">{shown}</button>'
    return f"<p>{shown}</p>"
