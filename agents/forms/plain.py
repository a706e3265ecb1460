"""The whole reply is the action."""

from __future__ import annotations

from cairn.agents.forms.base import ReplyForm, plain

FORM = ReplyForm(parse=plain, write=lambda action: action, is_strict=False)
