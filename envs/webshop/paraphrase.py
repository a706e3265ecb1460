"""Paraphrases of the shop: reworded instructions and renamed commands.

A synthetic goal's instruction consists of a text that begins with "Find me", of options and of a price limit. Each part
is rephrased with all its words and figures. Other instructions, also those of task families, stay unchanged inside a
sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from cairn.envs.paraphrase import framed
from cairn.envs.webshop.goals import NO_LIMIT, ShoppingGoal
from cairn.envs.webshop.pages import Piece

COMMANDS = {"search": ("find", "query", "look_up"), "click": ("press", "choose", "activate")}
_BEGINNING = "Find me "
_FRAMES = (  # product description, options, price limit
    ("I am looking for {things}", ", where {options}", ". I can pay less than {limit} dollars"),
    ("I would like to buy {things}", ", please with {options}", ", for less than {limit} dollars"),
    ("Could you get me {things}", " ({options})", "? They have to cost less than {limit} dollars"),
    ("Needed: {things}", "; {options}", "; price below {limit} dollars"),
)
# Beginnings of human instructions before the wanted product; "i need to be able to ..." does not match.
_WISH = re.compile(
    r"(?:i am|i'm) looking for |i (?:need|want) (?:to (?:buy|find|get|order|purchase) )?(?!to |you )", re.I
)
_WISHES = ("please find me ", "i would like to order ", "what i am after: ", "could you get me this: ")


def reworded(goal: ShoppingGoal) -> tuple[str, ...]:
    """Return other wordings of a goal's instruction."""
    options = ", and ".join(f"{name}: {value}" for name, value in _options(goal).items())
    limit = "" if goal.price_limit == NO_LIMIT else f"{goal.price_limit:.2f}"
    end = (f" with {options}" if options else "") + (f", and price lower than {limit} dollars" if limit else "")
    things = goal.instruction.removeprefix(_BEGINNING).removesuffix(end)
    if f"{_BEGINNING}{things}{end}" != goal.instruction or ". " in things:  # another structure
        return _reworded_wish(goal.instruction)
    return tuple(
        what.format(things=things)
        + (chosen.format(options=options) if options else "")
        + (price.format(limit=limit) if limit else "")
        for what, chosen, price in _FRAMES
    )


def shuffled(page: list[Piece], shuffle: Callable[[list[str]], list[str]]) -> list[Piece]:
    """Return a page with the values of each option shuffled; everything else keeps its order."""
    out: list[Piece] = []
    values: list[Piece] = []
    for piece in [*page, Piece("text", "")]:
        if values and (piece.kind, piece.name) != ("option", values[0].name):
            out += [Piece("option", text, values[0].name) for text in shuffle([value.text for value in values])]
            values = []
        (values if piece.kind == "option" else out).append(piece)
    return out[:-1]


def _reworded_wish(text: str) -> tuple[str, ...]:
    """Return other wordings of an instruction by a person or of a task family."""
    wish = _WISH.match(text)
    return framed(text) if wish is None else tuple(f"{begins}{text[wish.end() :]}" for begins in _WISHES)


def _options(goal: ShoppingGoal) -> Mapping[str, str]:
    return goal.options if isinstance(goal.options, Mapping) else {}
