"""Compares a call with a recorded one: same function, same element, same texts.

Calls with the same effect are equal: ``clear('80')`` and ``fill('80', "")``; a click on an element by its number, and
one with the mouse at a point in its box. A number identifies role, name and index among equals (see `accessibility`),
so equal numbers are equal elements. An element that covers the recorded one at that point is not detected.

A tolerant match ignores case and spaces in typed, sent or chosen texts, and compares only the direction of scrolling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cairn.envs.gui.actions import GuiCall
from cairn.envs.gui.recording import Element, TakenAction

Match = Literal["exact", "tolerant"]
_BY_NUMBER = {"mouse_click": "click", "mouse_dblclick": "dblclick", "mouse_move": "hover"}
_ELEMENTS = ("bid", "from_bid", "to_bid")
_TEXTS = ("value", "text", "options")
_PIXELS = ("delta_x", "delta_y")


@dataclass(frozen=True, slots=True)
class Likeness:
    """The aspects in which a call equals a recorded one; if all do, the calls match."""

    function: bool
    element: bool  # or neither call has an element; False for another function
    text: bool  # and all other arguments; False for another function

    @property
    def matches(self) -> bool:
        """Whether the calls match."""
        return self.function and self.element and self.text


def likeness(call: GuiCall, recorded: TakenAction, match: Match) -> Likeness:
    """Compare a call with a recorded one."""
    given, wanted = _plain(call), _plain(recorded.call)
    if given.function != wanted.function:
        return Likeness(False, False, False)
    same_text = _texts(given.others, match) == _texts(wanted.others, match)
    return Likeness(True, _is_same_element(given, wanted, recorded.element), same_text)


@dataclass(frozen=True, slots=True)
class _Plain:
    """A call in normalized form."""

    function: str
    elements: tuple[str, ...]
    point: tuple[float, float] | None
    others: Mapping[str, Any]  # Any: texts, numbers, tuples of texts


def _plain(call: GuiCall) -> _Plain:
    others = dict(call.arguments)
    function = _BY_NUMBER.get(call.name, call.name)
    if function == "clear":
        function, others = "fill", {**others, "value": ""}
    if function == "click":
        others.setdefault("button", "left")
    if "options" in others:
        options = others["options"]
        others["options"] = (options,) if isinstance(options, str) else tuple(options)
    elements = tuple(others.pop(name) for name in _ELEMENTS if name in others)
    point = (others.pop("x"), others.pop("y")) if "x" in others else None
    return _Plain(function, elements, point, others)


def _is_same_element(given: _Plain, wanted: _Plain, element: Element | None) -> bool:
    if (given.elements, given.point) == (wanted.elements, wanted.point):
        return True
    if element is None:
        return False
    if given.point is None:
        return wanted.point is not None and given.elements == (element.bid,)
    x, y = given.point
    return element.holds(x, y)


def _texts(others: Mapping[str, Any], match: Match) -> Mapping[str, Any]:
    """Return arguments in a form that is equal for matching calls."""
    return others if match == "exact" else {name: _comparable(name, value) for name, value in others.items()}


def _comparable(name: str, value: Any) -> object:  # Any: see _Plain.others
    if name in _TEXTS:
        texts = (value,) if isinstance(value, str) else value
        return tuple(" ".join(each.casefold().split()) for each in texts)
    return (value > 0) - (value < 0) if name in _PIXELS else value
