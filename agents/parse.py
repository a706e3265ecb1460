"""Reply text to action. A malformed reply is data: it gives some action and is marked invalid, it never raises."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reply says."""

    action: str
    is_valid: bool  # it had the form that was asked for
    why: str = ""  # what was wrong with it, in words for the model; "": nothing, or it is not told


def plain(reply: str) -> Parsed:
    """Take the whole reply, stripped of surrounding white space, as the action; an empty one is invalid."""
    action = reply.strip()
    return Parsed(action=action, is_valid=bool(action))


def invalid(why: str) -> Parsed:
    """Return a reply without an action, and what is told of it."""
    return Parsed(action="", is_valid=False, why=why)
