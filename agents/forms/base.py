"""The interface of a reply form, which parses a reply into one action.

The prompt that explains a form is in `configs/prompts/forms`, in a file of the form's name. A strict form accepts the
documented format only: any other reply is invalid, has no action, and has an error that the model is shown at its next
turn. Parsing never raises, also not for malformed replies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cairn.core.config import Config


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed reply."""

    action: str
    is_valid: bool  # the reply has the required format
    error: str = ""  # error for the model; "": none, or not shown


def plain(reply: str) -> Parsed:
    """Return the whole reply, stripped of surrounding white space, as the action; "" is invalid."""
    action = reply.strip()
    return Parsed(action=action, is_valid=bool(action))


def invalid(error: str) -> Parsed:
    """Return an invalid reply without an action and with an error for the model."""
    return Parsed(action="", is_valid=False, error=error)


class FormConfig(Config):
    """Settings of a reply form (none)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyForm:
    """A format of replies."""

    parse: Callable[[str], Parsed]  # accepts any text
    write: Callable[[str], str]  # returns a reply with only this action
    is_strict: bool  # `parse(write(action))` is the stripped action or invalid
