"""Parses actions on pages: BrowserGym's functions, as text or as JSON.

Text: one call with literals, ``click('417')``, ``fill('80', "Garden fence")``, ``scroll(0, 300)``.
JSON: ``{"name": "fill", "arguments": {"bid": "80", "value": "Garden fence"}}``, by the schemas that `schemas` returns;
the arguments may be a JSON text, as in replies of OpenAI's servers.

Nothing is evaluated. Python's own parser is not used either, since deep nesting crashes it. A call is a name with
texts, numbers and lists of texts.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cairn.core.records import Schema, function_schema
from cairn.core.tool_arguments import tool_arguments

_CALL = re.compile(r"([A-Za-z_]\w*)\s*\((.*)\)", re.DOTALL)
_TOKEN = re.compile(
    r"""\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?|[A-Za-z_]\w*(?=\s*=)|[\[\],=]|$)\s*""",
    re.DOTALL | re.ASCII,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}

BIDS = ("bid", "from_bid", "to_bid")  # arguments that name an element

_TEXT, _NUMBER = {"type": "string"}, {"type": "number"}
_TEXTS = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_BUTTON = {"type": "string", "enum": ["left", "middle", "right"]}
_TAB = {"type": "integer", "minimum": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function that an action can call."""

    summary: str
    properties: Mapping[str, Schema] = field(default_factory=dict)  # in the order of the call's arguments
    optional: tuple[str, ...] = ()

    @property
    def required(self) -> list[str]:
        """The required arguments."""
        return [name for name in self.properties if name not in self.optional]

    def form(self, name: str) -> str:
        """Return the form of a call, for error messages."""
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
class GuiCall:
    """A valid call of a function."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)  # Any: texts, numbers, lists of texts


@dataclass(frozen=True, slots=True)
class GuiActionError:
    """An invalid action; the text states the expected form."""

    text: str


def usage(names: tuple[str, ...]) -> str:
    """Return the list of functions as text."""
    lines = [f"  {FUNCTIONS[name].form(name)}: {FUNCTIONS[name].summary}" for name in names]
    return "\n".join(["Actions, one a turn, such as click('417'); bid: the number of an element, as text:", *lines])


def schemas(names: tuple[str, ...]) -> tuple[Schema, ...]:
    """Return the functions as schemas for model servers."""
    return tuple(
        function_schema(name, found.summary, found.properties, found.required)
        for name, found in FUNCTIONS.items()
        if name in names
    )


def parse(action: str, names: tuple[str, ...]) -> GuiCall | GuiActionError:
    """Return the call in an action of one of the named functions, or an error; never raises."""
    text = action.strip()
    try:
        name, given = _from_json(text) if text.startswith("{") else _from_call(text)
    except (ValueError, RecursionError):  # hostile texts can cause any of these
        return GuiActionError(f"Expected one call such as click('417'), got {action[:80]!r}.")
    if name not in names:
        return GuiActionError(f"There is no function {name[:40]!r} here. Functions: {', '.join(names)}.")
    return _checked(name, given)


def written(call: GuiCall) -> str:
    """Return a call as text."""
    given = [call.arguments[name] for name in FUNCTIONS[call.name].properties if name in call.arguments]
    return f"{call.name}({', '.join(map(repr, given))})"


def _from_json(text: str) -> tuple[str, dict[str, object]]:
    call = json.loads(text)
    name, arguments = call.get("name"), tool_arguments(call.get("arguments"))
    if not isinstance(name, str) or isinstance(arguments, str):
        raise ValueError("no call")
    return name, arguments


def _from_call(text: str) -> tuple[str, dict[str, object]]:
    found = _CALL.fullmatch(text)
    if found is None:
        raise ValueError("no call")
    name, tokens = found[1], _tokens(found[2])
    known = list(FUNCTIONS[name].properties) if name in FUNCTIONS else []
    given: dict[str, object] = {}
    while tokens:
        key = known[len(given)] if len(given) < len(known) else f"argument {len(given) + 1}"
        if len(tokens) > 1 and tokens[1] == "=":
            key, tokens = tokens[0], tokens[2:]
        if key in given:
            raise ValueError("given twice")
        given[key], tokens = _value(tokens)
        if tokens and (tokens[0] != "," or not tokens[1:]):
            raise ValueError("expected a comma")
        tokens = tokens[1:]
    return name, given


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError("no literal")
        found += [token[1]] if token[1] else []
        at = token.end()
    return found


def _value(tokens: list[str]) -> tuple[object, list[str]]:
    """Return the first literal and the remaining tokens."""
    if not tokens:
        raise ValueError("no literal")
    first, rest = tokens[0], tokens[1:]
    if first[0] in "'\"":
        return _ESCAPE.sub(_unescaped, first[1:-1]), rest
    if first == "[":
        end = rest.index("]")
        inside = rest[:end]
        if any(token != "," for token in inside[1::2]) or any(token[0] not in "'\"" for token in inside[::2]):
            raise ValueError("no list of texts")
        return [_value([token])[0] for token in inside[::2]], rest[end + 1 :]
    return (float(first) if set(first) & set(".eE") else int(first)), rest


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number <= sys.maxunicode else found[0]
    return _ESCAPED.get(code, found[0])


def _checked(name: str, given: dict[str, object]) -> GuiCall | GuiActionError:
    function = FUNCTIONS[name]
    for each in BIDS:
        if each in function.properties and type(given.get(each)) is int:
            given[each] = str(given[each])  # a number is accepted as a text
    if name == "noop" and list(given) in (["wait_ms"], ["argument 1"]):
        given = {}  # BrowserGym's noop has a waiting time; here every turn takes the same time
    wrong = [f"missing: {each}" for each in function.required if each not in given]
    wrong += [f"unknown: {each[:40]}" for each in given if each not in function.properties]
    wrong += [
        f"of a wrong kind: {each}"
        for each, value in given.items()
        if each in function.properties and not _fits(value, function.properties[each])
    ]
    if wrong:
        return GuiActionError(f"It is {function.form(name)}; {', '.join(wrong)}.")
    return GuiCall(name=name, arguments=given)


def _fits(value: object, schema: Schema) -> bool:
    if "anyOf" in schema:
        return any(_fits(value, each) for each in schema["anyOf"])
    if schema["type"] == "array":
        return isinstance(value, list | tuple) and all(_fits(each, schema["items"]) for each in value)
    if schema["type"] == "string":
        return isinstance(value, str) and value in schema.get("enum", (value,))
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e6
    return is_number and (schema["type"] == "number" or (isinstance(value, int) and value >= 0))
