"""The contract of a reply form: how the text of a reply becomes one action.

The prompt that explains a form is in `configs/prompts/forms`, in a file of the form's name. A strict form accepts the
documented format only: any other reply is invalid, has no action, and carries an error that the model is shown at its
next turn. A malformed reply is data: parsing never raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reply says."""

    action: str
    is_valid: bool  # it had the form that was asked for
    error: str = ""  # what was wrong with it, in words for the model; "": nothing, or it is not told


def plain(reply: str) -> Parsed:
    """Take the whole reply, stripped of surrounding white space, as the action; an empty one is invalid."""
    action = reply.strip()
    return Parsed(action=action, is_valid=bool(action))


def invalid(error: str) -> Parsed:
    """Return a reply without an action, and what is told of it."""
    return Parsed(action="", is_valid=False, error=error)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyForm:
    """A way to answer."""

    parse: Callable[[str], Parsed]  # of any text
    write: Callable[[str], str]  # a reply that asks for an action and says nothing else
    is_strict: (
        bool  # what `write` makes of an action, `parse` reads as that action without blanks around it, or refuses
    )
