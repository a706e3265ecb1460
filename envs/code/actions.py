"""Actions of the code environment: tool calls, as text or as JSON.

Text: the first line has the tool's name and short arguments; long arguments follow. ``edit_file`` takes three parts::

    run_python              write_file notes/plan.txt        edit_file solution.py       shell ls -l
    print(6 * 7)            first, read the tests            <<<<<<<
                                                             return a - b
                                                             =======
                                                             return a + b
                                                             >>>>>>>

JSON: ``{"name": "read_file", "arguments": {"path": "solution.py"}}``, by the schemas in `TOOLS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cairn.core.records import Schema, function_schema
from cairn.core.tool_arguments import tool_arguments

_EDIT = re.compile(r"\A<{5,}[^\n]*\n(.*?)\n?={5,}\n(.*?)\n?>{5,}[^\n]*\s*\Z", re.DOTALL)
_TEXT, _NUMBER = {"type": "string"}, {"type": "integer", "minimum": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool of the environment: its text form, summary and parameters."""

    form: str  # the arguments as text; \\n: a new line
    summary: str
    properties: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # Any: JSON schema
    optional: tuple[str, ...] = ()

    @property
    def required(self) -> list[str]:
        """Required arguments."""
        return [name for name in self.properties if name not in self.optional]


_MOST_DIGITS = 9  # of a line number; Python refuses to parse thousands of digits

TOOLS: dict[str, Tool] = {
    "run_python": Tool(
        form=r"\nCODE",
        summary="Run Python in an interpreter that keeps its state; the value of the last line is shown.",
        properties={"code": _TEXT},
    ),
    "shell": Tool(form=" COMMAND", summary="Run a shell command in the work folder.", properties={"command": _TEXT}),
    "write_file": Tool(
        form=r" PATH\nCONTENT",
        summary="Write a file and create its folders; an existing file is replaced.",
        properties={"path": _TEXT, "content": _TEXT},
    ),
    "edit_file": Tool(
        form=r" PATH\n<<<<<<<\nOLD\n=======\nNEW\n>>>>>>>",
        summary="Replace a text that occurs exactly once in a file.",
        properties={"path": _TEXT, "old": _TEXT, "new": _TEXT},
    ),
    "read_file": Tool(
        form=" PATH [FIRST [LAST]]",
        summary="Show a file, or its lines from first to last.",
        properties={"path": _TEXT, "first": _NUMBER, "last": _NUMBER},
        optional=("first", "last"),
    ),
    "list_files": Tool(form="", summary="List all files with their sizes."),
    "run_tests": Tool(form="", summary="Run the tests that the task shows."),
    "submit": Tool(
        form=" [ANSWER]",
        summary="End the episode and be judged, with an answer where one is asked for.",
        properties={"answer": _TEXT},
        optional=("answer",),
    ),
}
USAGE = "\n".join(
    [r"Actions, one a turn, as text (\n: a new line) or as JSON with name and arguments:"]
    + [f"  {name}{tool.form}: {tool.summary}" for name, tool in TOOLS.items()]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeCall:
    """A valid tool call."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)  # Any: text or whole numbers


@dataclass(frozen=True, slots=True)
class ToolCallError:
    """An action that is not a valid tool call; the text describes the expected form."""

    text: str


def schemas() -> tuple[Schema, ...]:
    """Return the tools as function schemas for a model server."""
    return tuple(function_schema(name, tool.summary, tool.properties, tool.required) for name, tool in TOOLS.items())


def parse(action: str) -> CodeCall | ToolCallError:
    """Parse an action into a call, or into an error if it is not a valid call."""
    text = action.strip("\r\n")
    if text.lstrip().startswith("{"):
        return _from_json(text)
    head, _, body = text.partition("\n")
    name, _, rest = head.strip().partition(" ")
    if name not in TOOLS:
        return ToolCallError(f"Unknown tool {name[:40]!r}. Tools: {', '.join(TOOLS)}.")
    return _checked(name, _from_text(name, rest.strip(), body))


def write_action(path: str, content: str) -> str:
    """Return the action that writes this file: as text if that form is exact, otherwise as JSON."""
    plain = f"write_file {path}\n{content}"
    if parse(plain) == CodeCall(tool="write_file", arguments={"path": path, "content": content}):
        return plain
    return json.dumps({"name": "write_file", "arguments": {"path": path, "content": content}})


def _from_text(name: str, rest: str, body: str) -> dict[str, Any]:  # Any: see CodeCall
    if name in ("run_python", "shell", "submit"):
        given = "\n".join(part for part in (rest, body) if part)
        key = {"run_python": "code", "shell": "command", "submit": "answer"}[name]
        return {key: given} if given else {}
    if name == "write_file":
        return {"path": rest, "content": body if body.endswith("\n") or not body else body + "\n"}
    if name == "edit_file":
        parts = _EDIT.match(body)
        return {"path": rest, **({"old": parts[1], "new": parts[2]} if parts else {})}
    if name == "read_file":
        path, *numbers = rest.split() or [""]
        lines = {
            key: int(n) if n.isdecimal() and len(n) <= _MOST_DIGITS else n
            for key, n in zip(("first", "last"), numbers, strict=False)
        }
        return {"path": path, **lines}
    return {}


def _from_json(text: str) -> CodeCall | ToolCallError:
    try:
        call = json.loads(text)
    except (ValueError, RecursionError) as error:
        return ToolCallError(f"This is not JSON: {error}. Expected an object with name and arguments.")
    name, arguments = call.get("name"), tool_arguments(call.get("arguments"))
    if not isinstance(name, str) or name not in TOOLS:
        return ToolCallError(f"Unknown tool {str(name)[:40]!r}. Tools: {', '.join(TOOLS)}.")
    if isinstance(arguments, str):
        return ToolCallError(f"Expected the arguments of {name} as an object: {arguments}.")
    return _checked(name, arguments)


def _checked(name: str, arguments: dict[str, Any]) -> CodeCall | ToolCallError:  # Any: unchecked
    tool = TOOLS[name]
    wanted = ", ".join([*tool.required, *(f"{key} (optional)" for key in tool.optional)]) or "nothing"
    missing = [key for key in tool.required if key not in arguments or (arguments[key] == "" and key != "new")]
    missing = [key for key in missing if not (key == "content" and key in arguments)]
    strange = [str(key)[:40] for key in arguments if key not in tool.properties]
    wrong = [
        key for key, value in arguments.items() if key in tool.properties and not _fits(value, tool.properties[key])
    ]
    if broken := [key for key, value in arguments.items() if isinstance(value, str) and not _is_unicode(value)]:
        return ToolCallError(f"{name}: {', '.join(broken)} has a lone surrogate, which is not a character of UTF-8.")
    if missing or strange or wrong:
        faults = [f"missing: {', '.join(missing)}"] * bool(missing) + [f"unknown: {', '.join(strange)}"] * bool(strange)
        faults += [f"of a wrong type: {', '.join(wrong)}"] * bool(wrong)
        return ToolCallError(f"{name} takes {wanted}; {'; '.join(faults)}.")
    return CodeCall(tool=name, arguments=arguments)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _fits(value: object, schema: Mapping[str, Any]) -> bool:  # Any: JSON schema
    if schema["type"] == "string":
        return isinstance(value, str)
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
