"""Calls in text and JSON: valid ones are parsed, and all other texts are errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.envs.gui.actions import FUNCTIONS, GuiActionError, GuiCall, parse, schemas, usage, written

ALL = tuple(FUNCTIONS)


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("click('12')", "click", {"bid": "12"}),
        ("click(12)", "click", {"bid": "12"}),
        (' click( bid = "12", button="right" ) ', "click", {"bid": "12", "button": "right"}),
        ("fill('3', 'it\\'s \\u00e9')", "fill", {"bid": "3", "value": "it's \u00e9"}),
        ("select_option('3', ['a', 'b'])", "select_option", {"bid": "3", "options": ["a", "b"]}),
        ("scroll(0, -300.5)", "scroll", {"delta_x": 0, "delta_y": -300.5}),
        ("fill('3', 'two\nlines')", "fill", {"bid": "3", "value": "two\nlines"}),
        ("fill('3', '\\d\\')')", "fill", {"bid": "3", "value": "\\d')"}),
        ("noop()", "noop", {}),
        ("drag_and_drop(1, 2)", "drag_and_drop", {"from_bid": "1", "to_bid": "2"}),
        ("noop(1000)", "noop", {}),
        ("noop(wait_ms=500.5)", "noop", {}),
        ('{"name": "noop"}', "noop", {}),
        ('{"name": "click", "arguments": "{\\"bid\\": 12}"}', "click", {"bid": "12"}),
        ('{"name": "noop", "arguments": ""}', "noop", {}),
        ('{"name": "tab_focus", "arguments": {"index": 1}}', "tab_focus", {"index": 1}),
    ],
)
def test_calls_are_understood(text: str, name: str, arguments: dict[str, object]) -> None:
    assert parse(text, ALL) == GuiCall(name=name, arguments=arguments)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("", "one call"),
        ("click", "one call"),
        ("click('1') click('2')", "one call"),
        ("click('1')\nclick('2')", "one call"),
        ("__import__('os').system('id')", "one call"),
        ("click(open('/etc/passwd').read())", "one call"),
        ("click(*['1'])", "one call"),
        ("click(**{'bid': '1'})", "one call"),
        ("click('1', bid='1')", "one call"),
        ("(" * 4000, "one call"),
        ("-" * 4000 + "1", "one call"),
        ("click('1',)", "one call"),
        ("click('1' '2')", "one call"),
        ("select_option('1', [['a']])", "one call"),
        ("select_option('1', ['a' 'b'])", "one call"),
        ("click(bid=)", "one call"),
        ("{", "one call"),
        ('{"name": 3}', "one call"),
        ('{"name": "noop", "arguments": "[]"}', "one call"),
        ('{"name": "noop", "arguments": "{"}', "one call"),
        ("noop(1, 2)", "unknown: argument 1, unknown: argument 2"),
        ("drag_and_drop(1.5, True)", "one call"),
        ("drag_and_drop(1.5, 2)", "wrong kind: from_bid"),
        ("print('x')", "no function 'print'"),
        ("click()", "missing: bid"),
        ("click('1', 'left', 'x')", "unknown: argument 3"),
        ("click('1', 'thumb')", "wrong kind: button"),
        ("fill('1', 2)", "wrong kind: value"),
        ("scroll(True, 0)", "one call"),
        ("scroll(1e999, 0)", "wrong kind: delta_x"),
        ("tab_focus(-1)", "wrong kind: index"),
        ("tab_focus(0.5)", "wrong kind: index"),
        ("select_option('1', [2])", "one call"),
    ],
)
def test_a_malformed_call_returns_an_error(text: str, reported: str) -> None:
    found = parse(text, ALL)
    assert isinstance(found, GuiActionError)
    assert reported in found.text


def test_only_the_functions_at_hand_can_be_called() -> None:
    assert isinstance(parse("noop()", ("click",)), GuiActionError)
    assert [each["function"]["name"] for each in schemas(("click", "noop"))] == ["click", "noop"]
    assert "noop()" in usage(("noop",))
    assert "click" not in usage(("noop",)).partition("\n")[2]


@given(st.text() | st.from_regex(r"[a-z_]{1,9}\([^\n]{0,40}\)"))
def test_any_text_is_a_call_or_a_mistake(text: str) -> None:
    assert isinstance(parse(text, ALL), GuiCall | GuiActionError)


@given(st.text(max_size=20), st.text(max_size=200))
def test_a_call_is_understood_as_it_is_written(bid: str, value: str) -> None:
    call = GuiCall(name="fill", arguments={"bid": bid, "value": value})
    assert parse(written(call), ALL) == call
