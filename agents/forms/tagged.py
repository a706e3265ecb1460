"""A thought and an action in <think> and <action> tags, as in the published GiGPO runs.

The reply is parsed in lower case. A reply without tags is invalid, and its end is the action; see `envs.tagged_reply`.
"""

from __future__ import annotations

from cairn.agents.forms.base import FormConfig, Parsed, ReplyForm
from cairn.core.plugins import Plugin
from cairn.envs.tagged_reply import parse_tagged, write_tagged

_FALLBACK_CHARS = 30  # characters of the reply's end that are the action without tags


def _parse(reply: str) -> Parsed:
    read = parse_tagged(reply, _FALLBACK_CHARS)
    return Parsed(action=read.action, is_valid=read.is_valid)


FORM = Plugin(FormConfig, lambda _: ReplyForm(parse=_parse, write=write_tagged, is_strict=False))
