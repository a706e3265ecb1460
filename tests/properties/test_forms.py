"""Properties of every reply form, found by discovery: any text is parsed, and a written action is parsed unchanged.

Texts are drawn at random, and built from the very words and marks of the forms, where mistakes are near.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cairn.agents.forms.base import Parsed, ReplyForm
from cairn.agents.prompts import shipped_prompts
from cairn.core.plugins import FORMS

PIECES = (
    *("Thought:", "Action:", "Observation:", "thought:", "ACTION:", "**Action:**", "Action 2:", "> Observation:"),
    *("```", "````", "```python", "```bash", "``", "`", "<think>", "</think>", "<action>", "</action>", "{", "}", '"'),
    *("\n", "\n\n", "\r\n", " ", "\t", "\x00", "\u2028", "\x85", "\ud800", "\u65e5", "go", "print(1)", ":", "[", "]"),
)
BUILT = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
FEW = st.lists(st.sampled_from(PIECES), max_size=3).map("".join)
TEXTS = st.one_of(st.text(st.characters(), max_size=60), BUILT)
EVERY = pytest.mark.parametrize("name", FORMS.ids())
MANY = settings(max_examples=300, deadline=None)


def form(name: str) -> ReplyForm:
    found = FORMS.build(name, {})
    assert isinstance(found, ReplyForm)
    return found


@EVERY
def test_any_text_is_read(name: str) -> None:
    of = form(name)

    @MANY
    @given(TEXTS)
    @example("")
    @example("[" * 100_000)
    @example("Thought" + " " * 100_000)
    @example("`" * 100_000)
    def check(text: str) -> None:
        parsed = of.parse(text)
        assert isinstance(parsed, Parsed)
        assert parsed == of.parse(text)
        if of.is_strict:
            assert parsed.is_valid == bool(parsed.action.strip()) == (parsed.error == "")

    check()


@EVERY
def test_a_written_action_is_parsed_unchanged_or_rejected(name: str) -> None:
    of = form(name)

    @MANY
    @given(TEXTS)
    def check(action: str) -> None:
        parsed = of.parse(of.write(action))
        if of.is_strict and parsed.is_valid:
            assert parsed.action in (action, action.strip())

    check()


@EVERY
@pytest.mark.parametrize("action", ["go to desk 1", "put(mug, desk)", "take key 7 from drawer 2", "search[red shoes]"])
def test_ordinary_actions_are_written_and_parsed_unchanged(name: str, action: str) -> None:
    assert form(name).parse(form(name).write(action)) == Parsed(action, is_valid=True)


@EVERY
def test_every_form_has_a_prompt_for_the_model(name: str) -> None:
    assert name in shipped_prompts("forms")
