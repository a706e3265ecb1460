"""Actions on pages: BrowserGym's functions, as text or as JSON.

Text: one call with literals, ``click('417')``, ``fill('80', "Garden fence")``, ``scroll(0, 300)``.
JSON: ``{"name": "fill", "arguments": {"bid": "80", "value": "Garden fence"}}``, by the schemas that `schemas` returns.

Nothing is evaluated: a call is read as a syntax tree, and only names, texts, numbers and lists of texts are taken.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cairn.envs.tools import Schema, function_schema

_TEXT, _NUMBER = {"type": "string"}, {"type": "number"}
_TEXTS = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_BUTTON = {"type": "string", "enum": ["left", "middle", "right"]}
_TAB = {"type": "integer", "minimum": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """What can be done."""

    summary: str
    properties: Mapping[str, Schema] = field(default_factory=dict)  # in the order of the call's arguments
    optional: tuple[str, ...] = ()

    @property
    def required(self) -> list[str]:
        """The arguments that must be given."""
        return [name for name in self.properties if name not in self.optional]

    def form(self, name: str) -> str:
        """Return how it is called."""
        return f"{name}({', '.join(f'{each}=…' if each in self.optional else each for each in self.properties)})"


FUNCTIONS: dict[str, Function] = {
    "click": Function(summary="Click on it.", properties={"bid": _TEXT, "button": _BUTTON}, optional=("button",)),
    "dblclick": Function(summary="Click on it twice.", properties={"bid": _TEXT}),
    "hover": Function(summary="Move the mouse onto it.", properties={"bid": _TEXT}),
    "fill": Function(summary="Replace what a field holds.", properties={"bid": _TEXT, "value": _TEXT}),
    "clear": Function(summary="Empty a field.", properties={"bid": _TEXT}),
    "check": Function(summary="Tick a box or choose a radio button.", properties={"bid": _TEXT}),
    "uncheck": Function(summary="Clear a box.", properties={"bid": _TEXT}),
    "select_option": Function(summary="Choose from a list.", properties={"bid": _TEXT, "options": _TEXTS}),
    "press": Function(
        summary="Press a key in an element: 'Enter', 'Control+a'.", properties={"bid": _TEXT, "key_comb": _TEXT}
    ),
    "focus": Function(summary="Put the focus on an element.", properties={"bid": _TEXT}),
    "drag_and_drop": Function(
        summary="Drag one element onto another.", properties={"from_bid": _TEXT, "to_bid": _TEXT}
    ),
    "scroll": Function(summary="Scroll by pixels.", properties={"delta_x": _NUMBER, "delta_y": _NUMBER}),
    "mouse_move": Function(summary="Move the mouse to a point.", properties={"x": _NUMBER, "y": _NUMBER}),
    "mouse_click": Function(
        summary="Click at a point.", properties={"x": _NUMBER, "y": _NUMBER, "button": _BUTTON}, optional=("button",)
    ),
    "mouse_dblclick": Function(summary="Click there twice.", properties={"x": _NUMBER, "y": _NUMBER}),
    "mouse_drag_and_drop": Function(
        summary="Drag from one point to another.",
        properties={"from_x": _NUMBER, "from_y": _NUMBER, "to_x": _NUMBER, "to_y": _NUMBER},
    ),
    "keyboard_type": Function(summary="Type a text where the focus is.", properties={"text": _TEXT}),
    "keyboard_press": Function(summary="Press a key where the focus is.", properties={"key": _TEXT}),
    "goto": Function(summary="Go to an address.", properties={"url": _TEXT}),
    "go_back": Function(summary="Go back in the tab's history."),
    "go_forward": Function(summary="Go forward in the tab's history."),
    "new_tab": Function(summary="Open a tab."),
    "tab_close": Function(summary="Close the tab."),
    "tab_focus": Function(summary="Show another tab.", properties={"index": _TAB}),
    "noop": Function(summary="Let time pass."),
    "send_msg_to_user": Function(
        summary="Tell the user the answer, or that it is done; this ends the task.", properties={"text": _TEXT}
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that fits its function."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)  # Any: texts, numbers, lists of texts


@dataclass(frozen=True, slots=True)
class Mistake:
    """An action that is no call; the text says what is expected."""

    text: str


def usage(names: tuple[str, ...]) -> str:
    """Return what can be done, as text."""
    lines = [f"  {FUNCTIONS[name].form(name)}: {FUNCTIONS[name].summary}" for name in names]
    return "\n".join(["Actions, one a turn, such as click('417'); bid: the number of an element, as text:", *lines])


def schemas(names: tuple[str, ...]) -> tuple[Schema, ...]:
    """Return the functions as a model server takes them."""
    return tuple(
        function_schema(name, found.summary, found.properties, found.required)
        for name, found in FUNCTIONS.items()
        if name in names
    )


def parse(action: str, names: tuple[str, ...]) -> Call | Mistake:
    """Return the call in an action, of one of the functions named; any text is one or a mistake."""
    text = action.strip()
    try:
        name, given = _from_json(text) if text.startswith("{") else _from_call(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # whatever the parsers find in hostile texts
        return Mistake(f"Expected one call such as click('417'), got {action[:80]!r}.")
    if name not in names:
        return Mistake(f"There is no function {name[:40]!r} here. Functions: {', '.join(names)}.")
    return _checked(name, given)


def written(call: Call) -> str:
    """Return a call as text."""
    return f"{call.name}({', '.join(map(repr, call.arguments.values()))})"


def _from_json(text: str) -> tuple[str, dict[str, object]]:
    said = json.loads(text)
    name, arguments = said.get("name"), said.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise ValueError("no call")
    return name, arguments


def _from_call(text: str) -> tuple[str, dict[str, object]]:
    tree = ast.parse(text, mode="eval").body
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise ValueError("no call")
    name = tree.func.id
    known = list(FUNCTIONS[name].properties) if name in FUNCTIONS else []
    given: dict[str, object] = {}
    for at, each in enumerate(tree.args):
        given[known[at] if at < len(known) else f"argument {at + 1}"] = ast.literal_eval(each)
    for keyword in tree.keywords:
        if keyword.arg is None or keyword.arg in given:
            raise ValueError("no call")
        given[keyword.arg] = ast.literal_eval(keyword.value)
    return name, given


def _checked(name: str, given: dict[str, object]) -> Call | Mistake:
    function = FUNCTIONS[name]
    if "bid" in function.properties and type(given.get("bid")) is int:
        given["bid"] = str(given["bid"])  # a number is understood
    wrong = [f"missing: {each}" for each in function.required if each not in given]
    wrong += [f"unknown: {each[:40]}" for each in given if each not in function.properties]
    wrong += [
        f"of a wrong kind: {each}"
        for each, value in given.items()
        if each in function.properties and not _fits(value, function.properties[each])
    ]
    if wrong:
        return Mistake(f"It is {function.form(name)}; {', '.join(wrong)}.")
    return Call(name=name, arguments=given)


def _fits(value: object, schema: Schema) -> bool:
    if "anyOf" in schema:
        return any(_fits(value, each) for each in schema["anyOf"])
    if schema["type"] == "array":
        return isinstance(value, list | tuple) and all(_fits(each, schema["items"]) for each in value)
    if schema["type"] == "string":
        return isinstance(value, str) and value in schema.get("enum", (value,))
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e6
    return is_number and (schema["type"] == "number" or (isinstance(value, int) and value >= 0))
