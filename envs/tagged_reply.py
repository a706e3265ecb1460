"""The reply format of the published GiGPO runs: a thought and an action, each in its tags.

One departure from the public code: the closing tag is looked for after the opening one, so that a stray ``</action>``
before it does not blank the action. Whether an action does anything is the environment's business: a well-formed but
inadmissible one is valid and has no effect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CJK = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class TaggedReply:
    """What was read out of a reply."""

    action: str  # what the environment is sent; lower-case
    is_valid: bool  # it had the form that the prompt asks for


def write_tagged(action: str) -> str:
    """Return a valid reply that asks for `action` without further thought."""
    return f"<think></think><action>{action}</action>"


def parse_tagged(reply: str, fallback_chars: int) -> TaggedReply:
    """Return the action in a reply and whether the reply was valid; any text is an outcome, none an error.

    Args:
        reply: any text.
        fallback_chars: how much of the reply's end is taken for the action where there are no tags.
    """
    lowered = reply.lower()
    _, opened, rest = lowered.partition("<action>")
    action, closed, _ = rest.partition("</action>")
    if not opened or not closed:
        return TaggedReply(lowered[-fallback_chars:], is_valid=False)
    has_thought = "<think>" in reply and "</think>" in reply
    return TaggedReply(action.strip(), is_valid=has_thought and _CJK.search(reply) is None)
