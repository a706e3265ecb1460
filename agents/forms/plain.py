"""The whole reply is the action."""

from __future__ import annotations

from cairn.agents.forms.base import FormConfig, ReplyForm, plain
from cairn.core.plugins import Plugin

FORM = Plugin(FormConfig, lambda _: ReplyForm(parse=plain, write=lambda action: action, is_strict=False))
