"""Calls that match a recorded call."""

from __future__ import annotations

import pytest

from cairn.envs.gui.actions import FUNCTIONS, GuiCall, parse
from cairn.envs.gui.matching import Likeness, likeness
from cairn.envs.gui.recording import Element, TakenAction

BOX = Element(bid="7", role="button", name="Search", box=(100, 40, 50, 20))
ALL = Likeness(True, True, True)
OTHER = Likeness(False, False, False)


def call(text: str) -> GuiCall:
    found = parse(text, tuple(FUNCTIONS))
    assert isinstance(found, GuiCall), found
    return found


def compared(given: str, wanted: str, match: str = "exact", element: Element | None = BOX) -> Likeness:
    return likeness(
        call(given), TakenAction(call=call(wanted), element=element), "exact" if match == "exact" else "tolerant"
    )


@pytest.mark.parametrize(
    ("given", "wanted", "expected"),
    [
        ("click('7')", "click('7')", ALL),
        ("click(7)", "click('7')", ALL),
        ('{"name": "click", "arguments": {"bid": "7", "button": "left"}}', "click('7')", ALL),
        ("click('7', 'right')", "click('7')", Likeness(True, True, False)),
        ("click('8')", "click('7')", Likeness(True, False, True)),
        ("dblclick('7')", "click('7')", OTHER),
        ("hover('7')", "click('7')", OTHER),
        # a point in the box: 100 to 150, 40 to 60, ends left out
        ("mouse_click(100, 40)", "click('7')", ALL),
        ("mouse_click(149.5, 59)", "click('7')", ALL),
        ("mouse_click(150, 40)", "click('7')", Likeness(True, False, True)),
        ("mouse_click(100, 39)", "click('7')", Likeness(True, False, True)),
        ("mouse_click(100, 40, 'right')", "click('7')", Likeness(True, True, False)),
        ("click('7')", "mouse_click(110, 50)", ALL),
        ("mouse_click(140, 41)", "mouse_click(110, 50)", ALL),
        ("click('8')", "mouse_click(110, 50)", Likeness(True, False, True)),
        ("mouse_dblclick(110, 50)", "dblclick('7')", ALL),
        ("mouse_move(110, 50)", "hover('7')", ALL),
        ("fill('7', 'Garden fence')", "fill('7', 'Garden fence')", ALL),
        ("fill('7', 'garden  fence')", "fill('7', 'Garden fence')", Likeness(True, True, False)),
        ("fill('8', 'x')", "fill('7', 'y')", Likeness(True, False, False)),
        ("clear('7')", "fill('7', '')", ALL),
        ("fill('7', '')", "clear('7')", ALL),
        ("fill('7', ' ')", "clear('7')", Likeness(True, True, False)),
        ("select_option('7', ['work'])", "select_option('7', 'work')", ALL),
        ("select_option('7', ['work', 'club'])", "select_option('7', 'work')", Likeness(True, True, False)),
        ("scroll(0, 300.0)", "scroll(0, 300)", ALL),
        ("scroll(0, 200)", "scroll(0, 300)", Likeness(True, True, False)),
        ("press('7', 'enter')", "press('7', 'Enter')", Likeness(True, True, False)),
        ("drag_and_drop('7', '9')", "drag_and_drop('7', '8')", Likeness(True, False, True)),
        ("mouse_drag_and_drop(1, 2, 3, 4)", "mouse_drag_and_drop(1, 2, 3, 5)", Likeness(True, True, False)),
        ("noop()", "noop()", ALL),
        ("send_msg_to_user('5')", "send_msg_to_user('7')", Likeness(True, True, False)),
        ("goto('http://mail/')", "goto('http://files/')", Likeness(True, True, False)),
    ],
)
def test_a_call_is_compared(given: str, wanted: str, expected: Likeness) -> None:
    assert compared(given, wanted) == expected
    assert expected.matches == (expected == ALL)


@pytest.mark.parametrize(
    ("given", "wanted", "matches"),
    [
        ("fill('7', ' garden  FENCE\\n')", "fill('7', 'Garden fence')", True),
        ("fill('7', 'gardenfence')", "fill('7', 'Garden fence')", False),
        ("send_msg_to_user('done.')", "send_msg_to_user('Done.')", True),
        ("select_option('7', 'Work')", "select_option('7', ['work'])", True),
        ("select_option('7', ['a b'])", "select_option('7', ['a', 'b'])", False),
        ("scroll(0, 200)", "scroll(0, 300)", True),
        ("scroll(0, -200)", "scroll(0, 300)", False),
        ("scroll(10, 200)", "scroll(0, 300)", False),
        ("press('7', 'enter')", "press('7', 'Enter')", False),
        ("goto('http://MAIL/')", "goto('http://mail/')", False),
        ("click('8')", "click('7')", False),
    ],
)
def test_a_tolerant_match_is_of_texts_and_directions(given: str, wanted: str, matches: bool) -> None:
    assert compared(given, wanted, "tolerant").matches == matches


def test_a_point_on_nothing_is_matched_by_itself_alone() -> None:
    assert compared("mouse_click(5, 5)", "mouse_click(5, 5)", element=None).matches
    assert not compared("mouse_click(5, 6)", "mouse_click(5, 5)", element=None).matches
    assert not compared("click('7')", "mouse_click(5, 5)", element=None).matches
    assert not compared("mouse_click(5, 5)", "click('7')", element=None).matches
