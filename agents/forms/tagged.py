"""A thought and an action in <think> and <action> tags, as the published GiGPO runs read them.

Read in lower case. A reply without tags is invalid, and its end is the action; see `envs.tagged_reply`.
"""

from __future__ import annotations

from cairn.agents.forms.base import Parsed, ReplyForm
from cairn.envs.tagged_reply import parse_tagged, write_tagged

_FALLBACK_CHARS = 30  # without tags, this much of the reply's end is the action


def _parse(reply: str) -> Parsed:
    read = parse_tagged(reply, _FALLBACK_CHARS)
    return Parsed(action=read.action, is_valid=read.is_valid)


FORM = ReplyForm(parse=_parse, write=write_tagged, is_strict=False)
