"""The whole reply is the action."""

from __future__ import annotations

from cairn.agents.forms.base import Parsed
from cairn.core.plugins import FORMS

FORM = FORMS.build("plain", {})


def test_the_whole_reply_is_the_action() -> None:
    assert FORM.parse(" go\nthere \n") == Parsed("go\nthere", is_valid=True)
    assert FORM.parse(" \n") == Parsed("", is_valid=False)
    assert FORM.write("go") == "go"
