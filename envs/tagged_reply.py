"""The reply format of the published GiGPO runs: a thought and an action, each in tags.

One departure from the public code: the closing tag is searched after the opening one, so that a stray ``</action>``
before it does not clear the action. The environment decides on the effect of an action: a well-formed but inadmissible
action is valid and has no effect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_CJK = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class TaggedReply:
    """The parsed content of a reply."""

    action: str  # the action for the environment, in lower case
    is_valid: bool  # whether the reply has the required format


def write_tagged(action: str) -> str:
    """Return a valid reply with `action` and an empty thought."""
    return f"<think></think><action>{action}</action>"


def parse_tagged(reply: str, fallback_chars: int) -> TaggedReply:
    """Return the action in a reply and whether the reply is valid; never raises.

    Args:
        reply: any text.
        fallback_chars: length of the reply's end that is used as the action without tags.
    """
    lowered = reply.lower()
    _, opened, rest = lowered.partition("<action>")
    action, closed, _ = rest.partition("</action>")
    if not opened or not closed:
        return TaggedReply(lowered[-fallback_chars:], is_valid=False)
    has_thought = "<think>" in reply and "</think>" in reply
    return TaggedReply(action.strip(), is_valid=has_thought and _CJK.search(reply) is None)
