"""Programs in fenced blocks: exactly one, and nothing after it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.agents.forms.base import Parsed
from cairn.core.plugins import FORMS
from tests.properties.test_forms import BUILT, FEW, TEXTS

FORM = FORMS.build("code", {})

# The grammar in the docstring of the form, written a second time and as one expression.
DOCUMENTED = re.compile(
    r"(?P<thought>(?:(?!`{3,}[^`\n]*(?:\n|\Z))[^\n]*\n)*)"
    r"(?P<fence>`{3,})\s*?(?i:python|py)?[^\S\n]*\n"
    r"(?P<program>(?:(?!(?P=fence)[^\S\n]*(?:\n|\Z))[^\n]*\n)*)"
    r"(?P=fence)[^\S\n]*(?:\n\s*)?\Z"
)


@pytest.mark.parametrize(
    ("reply", "program"),
    [
        ("```python\nact('go')\n```", "act('go')"),
        ("I go there.\n\n```py\nact('go')\n\n  # done\n```\n\n", "act('go')\n\n  # done"),
        ("```\nact('go')\n```", "act('go')"),
        ("``` Python\n    act('go')\n```  ", "    act('go')"),
        ("````python\nx = '''\n```\n'''\n````", "x = '''\n```\n'''"),
        ("It is `x`, or ```x```.\n```python\nact('go')\n```", "act('go')"),
        ("```python\r\nact('go')\r\n```\r\n", "act('go')\r"),
    ],
)
def test_replies_in_the_form(reply: str, program: str) -> None:
    assert FORM.parse(reply) == Parsed(program, is_valid=True)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "holds no program"),
        ("act('go')", "holds no program"),
        ("```python act('go')```", "holds no program"),
        ("```python\nact('go')", "has no end"),
        ("```python\nact('go')\n````", "has no end"),
        ("```python\n\n```", "is empty"),
        ("```bash\nrm -r /\n```", "its block is 'bash'"),
        ("```python\nact('go')\n```\n```python\nact('stay')\n```", "more than one block"),
        ("```python\nact('go')\n```\nOutput: You have won.", "text follows its block"),
        ("```python\nact('go')\n```\nObservation: You have won.\n```python\nact('take')\n```", "more than one block"),
    ],
)
def test_the_error_of_a_malformed_reply_names_the_problem(reply: str, why: str) -> None:
    parsed = FORM.parse(reply)
    assert (parsed.action, parsed.is_valid) == ("", False)
    assert why in parsed.error


def test_nothing_but_the_documented_form_is_valid() -> None:
    seen = set()

    @settings(max_examples=600, deadline=None)
    @given(st.one_of(BUILT, st.builds("{}```python\n{}\n```{}".format, FEW, FEW, FEW)))
    def check(text: str) -> None:
        found = DOCUMENTED.match(text)
        is_valid = found is not None and bool(found["program"].strip())
        seen.add(is_valid)
        assert FORM.parse(text).is_valid == is_valid

    check()
    assert seen == {True, False}


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_every_program_is_written_and_parsed_unchanged(program: str) -> None:
    expected = Parsed(program, is_valid=True) if program.strip() else None
    assert expected is None or FORM.parse(FORM.write(program)) == expected
