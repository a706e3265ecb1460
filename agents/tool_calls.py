"""Tool calls of a model: offered tools, parsing, validation, and storage as text.

A call is valid if its tool was offered and its arguments are JSON that fits the tool's schema. The action is the valid
calls among the first `Observation.max_calls` calls of a reply: one call, or a JSON list of calls. The other calls are
not executed, but each gets a result, as the protocol requires. A reply without a valid call is an invalid turn without
an action, and the model is shown the error. In an environment that takes text, a reply without calls is an action.

A call whose name or arguments a server would reject in later requests is not repeated as a call.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from cairn.agents.conversation import TurnContent
from cairn.agents.forms.base import Parsed, invalid
from cairn.core.records import Observation, Schema, function_schema
from cairn.core.tool_arguments import tool_arguments


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as received."""

    id: str
    name: str
    arguments: str  # JSON if valid
    fault: str = ""  # reason why it is malformed


@dataclass(frozen=True, slots=True)
class Answer:
    """The text and the calls of a reply."""

    content: str
    calls: tuple[ToolCall, ...] = ()

    def written(self) -> str:
        """Return the answer as JSON text."""
        return json.dumps({"content": self.content, "calls": [asdict(call) for call in self.calls]}, ensure_ascii=False)


def read_answer(text: str) -> Answer:
    """Return the answer that `Answer.written` wrote; other text becomes an answer without calls."""
    try:
        found = json.loads(text)
        content, calls = found["content"], tuple(ToolCall(**call) for call in found["calls"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return Answer(text)
    parts = [content, *(part for call in calls for part in (call.id, call.name, call.arguments, call.fault))]
    return Answer(content, calls) if all(isinstance(part, str) for part in parts) else Answer(text)


def read_action(action: str) -> Answer:
    """Return the answer with the calls of an action; other text becomes an answer without calls."""
    try:
        found = json.loads(action)
        calls = found if isinstance(found, list) and found else [found]
        return Answer(
            "",
            tuple(
                ToolCall(f"call{number:05}", str(call["name"]), json.dumps(call["arguments"]))
                for number, call in enumerate(calls)
            ),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return Answer(action)


CUT = "it was cut off at the longest length of a reply. Answer more briefly"  # its calls may lack arguments
TOOL, ARGUMENT = "act", "action"
_MOST_CHOICES = 100  # admissible actions that the tool lists
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # names that servers accept
_SHOWN = 200  # characters of a wrong value in messages


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """The action, the calls and the errors of an answer."""

    parsed: Parsed
    calls: tuple[ToolCall, ...] = ()  # calls to repeat in later prompts; empty: the reply is text
    faults: tuple[str, ...] = ()  # why each call was not executed; "": its result is from the environment
    lost: str = ""  # reasons for the calls that cannot be repeated

    def results(self, shown: TurnContent) -> tuple[str, ...]:
        """Return the result of each repeated call, from the environment's next observation."""
        remaining = iter(shown.results or (shown.text,))
        texts = [f"Not carried out: {fault}." if fault else next(remaining, "") for fault in self.faults]
        if texts and self.lost:
            texts[0] = f"[{self.lost}]\n{texts[0]}"
        return tuple(texts)


@dataclass(frozen=True)
class ToolSet:
    """The tools of one turn.

    If the environment has no tools, there is one tool that takes an action as text.
    """

    observation: Observation

    @cached_property
    def tools(self) -> tuple[Schema, ...]:
        """The schemas for the server."""
        if self.observation.tools:
            return self.observation.tools
        argument: dict[str, object] = {"type": "string"}
        actions = dict.fromkeys(self.observation.admissible or ())
        if 0 < len(actions) <= _MOST_CHOICES:
            argument["enum"] = list(actions)
        return (function_schema(TOOL, "Carry out one action in the environment.", {ARGUMENT: argument}, [ARGUMENT]),)

    def read(self, answer: Answer) -> ToolCallResult:
        """Parse and validate an answer; no content raises an error."""
        if not answer.calls:
            if self.observation.takes_text and (text := answer.content.strip()):
                return ToolCallResult(Parsed(text, is_valid=True))
            return ToolCallResult(invalid(f"it calls no tool. Call one of: {', '.join(self._names())[:_SHOWN]}"))
        most = self.observation.max_calls
        each = [self._parsed(call, tool_arguments(call.arguments)) for call in answer.calls[:most]]
        fitting = [parsed.action for parsed in each if parsed.is_valid]
        faults = [parsed.error for parsed in each] + [_surplus(most)] * (len(answer.calls) - most)
        if not fitting:
            parsed, faults[0] = each[0], ""  # the next observation states the error
        else:
            parsed = Parsed(fitting[0] if len(fitting) == 1 else f"[{', '.join(fitting)}]", is_valid=True)
        again = [_sayable(call) for call in answer.calls]
        if any(call is None and not fault for call, fault in zip(again, faults, strict=True)):
            return ToolCallResult(parsed)  # a result without its call is not allowed
        kept = [(call, fault) for call, fault in zip(again, faults, strict=True) if call is not None]
        lost = "; ".join(fault for call, fault in zip(again[:most], faults, strict=False) if call is None)
        return ToolCallResult(parsed, tuple(call for call, _ in kept), tuple(fault for _, fault in kept), lost)

    def _parsed(self, call: ToolCall, arguments: dict[str, Any] | str) -> Parsed:  # Any: JSON
        if call.fault:
            return invalid(call.fault)
        named = call.name[:64]
        if call.name not in (names := self._names()):
            return invalid(f"there is no tool {named!r}. Call one of: {', '.join(names)[:_SHOWN]}")
        if isinstance(arguments, str):
            return invalid(f"in the call of {named}, {arguments}")
        if wrong := self._misfit(call.name, arguments):
            return invalid(f"the call of {named} does not fit its schema: {wrong}")
        if self.observation.tools:
            return Parsed(json.dumps({"name": call.name, "arguments": arguments}, ensure_ascii=False), is_valid=True)
        action = arguments[ARGUMENT].strip()
        return Parsed(action, is_valid=True) if action else invalid(f"in the call of {named}, {ARGUMENT} is empty")

    def _names(self) -> list[str]:
        return [str(tool["function"]["name"]) for tool in self.tools]

    def _misfit(self, name: str, arguments: dict[str, Any]) -> str:  # Any: JSON
        """Return the mismatch between arguments and a tool's schema; "": they fit."""
        schema = next(tool["function"].get("parameters") for tool in self.tools if tool["function"]["name"] == name)
        try:
            found = best_match(Draft202012Validator(schema or {}).iter_errors(arguments))
        except RecursionError:
            return "the arguments are nested too deep"
        return "" if found is None else _in_words(found)


def _surplus(most: int) -> str:
    return (
        f"a turn has at most {most} calls" if most > 1 else "one call is carried out at a turn, and another came first"
    )


def _in_words(error: ValidationError) -> str:
    where = ".".join(map(str, error.absolute_path))
    if error.validator == "enum":
        return f"{where}: {str(error.instance)[:_SHOWN]!r} is not one of those listed"
    return f"{where}: {error.message[:_SHOWN]}" if where else error.message[:_SHOWN]


def _sayable(call: ToolCall) -> ToolCall | None:
    """Return a call with its arguments as plain JSON; None: a server would reject it."""
    arguments = tool_arguments(call.arguments)
    if call.fault or not _NAME.fullmatch(call.name) or isinstance(arguments, str):
        return None
    return ToolCall(call.id, call.name, json.dumps(arguments, ensure_ascii=False))
