"""The form of the published GiGPO runs, as `envs.tagged_reply` reads it."""

from __future__ import annotations

from cairn.agents.forms.base import Parsed
from cairn.core.plugins import FORMS

FORM = FORMS.build("tagged", {})


def test_thought_and_action_are_in_tags_and_the_action_is_lower_cased() -> None:
    assert FORM.parse("<think>Why?</think><action>Go</action>") == Parsed("go", is_valid=True)
    assert FORM.write("go") == "<think></think><action>go</action>"


def test_without_tags_the_last_thirty_characters_are_an_invalid_action() -> None:
    assert FORM.parse("0123456789" * 4) == Parsed("0123456789" * 3, is_valid=False)
    assert FORM.parse("<action>go</action>") == Parsed("go", is_valid=False)
