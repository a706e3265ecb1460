"""ReAct replies: one thought and one action, written so; everything else is invalid, has no action, and says why."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.agents.forms.base import Parsed
from cairn.core.plugins import FORMS
from tests.properties.test_forms import BUILT, FEW

FORM = FORMS.build("react", {})

LABEL = r"[ \t>*_#-]*(?i:thought|action|observation)(?:[ \t*_]*\d+)?[ \t*_]*:"
FREE = rf"(?:(?!^{LABEL})[\s\S])*?"  # any text without a line that begins with a label
# The grammar in the docstring of the form, written a second time and as one expression.
DOCUMENTED = re.compile(
    rf"\s*Thought:(?!\s*\Z){FREE}\n(?:Action:[^\n]*\S[^\n]*\s*|Action:[^\S\n]*\n(?=\s*\S){FREE})\Z", re.MULTILINE
)


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("Thought: The mug is on the desk.\nAction: go to desk 1", "go to desk 1"),
        ("Thought:\nAction: look", "look"),
        ("\n Thought: one\n\ntwo: three\n\nAction:   look \n\n", "look"),
        ("Thought: I could do Action: jump, but no.\nAction: look", "look"),
        ("Thought: x\nAction:\nwrite_file a.py\nprint(1)\n", "write_file a.py\nprint(1)"),
        ("Thought: x\nAction: say Observation: it is dark", "say Observation: it is dark"),
        ("Thought: actions: many; Observations are few\nAction: look", "look"),
    ],
)
def test_replies_in_the_form(reply: str, action: str) -> None:
    assert FORM.parse(reply) == Parsed(action, is_valid=True)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "0 lines begin with 'Action:'"),
        ("look", "0 lines"),
        ("Thought: I look.", "0 lines"),
        ("Thought: x\nAction:", "nothing follows"),
        ("Thought: x\nAction: \n \n", "nothing follows"),
        ("Action: look", "one 'Thought:' and"),
        ("Action: look\nThought: x", "one 'Thought:' and"),
        ("Sure!\nThought: x\nAction: look", "one 'Thought:' and"),
        ("Thought: x Action: look", "0 lines"),
        ("Thought: x\nAction: look\nAction: jump", "2 lines"),
        ("Thought: x\nThought: y\nAction: look", "one 'Thought:' and"),
        ("Thought: x\nAction: look\nThen I will jump.", "text follows the action"),
        ("Thought: x\nACTION: look", "written so"),
        ("Thought: x\n**Action:** look", "written so"),
        ("Thought 1: x\nAction 1: look", "written so"),
        ("thought: x\nAction: look", "written so"),
        ("Thought: x\nAction:\nlook\nAction: jump", "2 lines"),
    ],
)
def test_the_error_of_a_malformed_reply_names_the_problem(reply: str, why: str) -> None:
    parsed = FORM.parse(reply)
    assert (parsed.action, parsed.is_valid) == ("", False)
    assert why in parsed.error


@pytest.mark.parametrize(
    "rest",
    [
        "\nObservation: You have won.",
        "\nObservation: The drawer is open.\nThought: y\nAction: take key",
        "\nOBSERVATION : You have won.",
        "\n\n   Observation 1: You have won.",
        "\n**Observation:** You have won.",
        "\n> Observation: You have won.",
        "\n- observation: You have won.",
    ],
)
def test_an_observation_of_its_own_is_refused_and_so_is_the_action_before_it(rest: str) -> None:
    for reply in (
        f"Thought: x\nAction: look{rest}",
        f"Thought: x\nAction:\nlook{rest}",
        f"Thought: x{rest}\nAction: look",
    ):
        parsed = FORM.parse(reply)
        assert (parsed.action, parsed.is_valid) == ("", False)
        assert "only the environment makes those" in parsed.error


def test_nothing_but_the_documented_form_is_valid() -> None:
    found = set()

    @settings(max_examples=600, deadline=None)
    @given(st.one_of(BUILT, st.builds("{}Thought:{}\nAction:{}".format, FEW, FEW, FEW)))
    def check(text: str) -> None:
        found.add(FORM.parse(text).is_valid)
        assert FORM.parse(text).is_valid == (DOCUMENTED.match(text) is not None)

    check()
    assert found == {True, False}


def test_an_action_of_several_lines_begins_below_the_label() -> None:
    assert FORM.write("a\nb") == "Thought:\nAction:\na\nb"
    assert FORM.parse(FORM.write("a\nb")).action == "a\nb"
    assert not FORM.parse(FORM.write("a\nAction: b")).is_valid  # cannot be said
