"""Tool calls of a model: the offered tools, parsing, validation, and the answer that is stored as one text.

A call is valid if its tool was offered and its arguments are JSON that fits the tool's schema. The valid ones among the
first `Observation.max_calls` calls of a reply are its action: one call, or a JSON list of calls. The others are not
carried out, but each gets an answer, as the protocol requires. A reply without a valid call is an invalid turn without
an action, and the model is shown the error; where the environment takes text, a reply that only says something is an
action as it is.

A call that servers would refuse in later requests, for its name or its arguments, is not repeated as a call.
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
    """A call as it came."""

    id: str
    name: str
    arguments: str  # JSON, if the model kept to it
    fault: str = ""  # why it cannot be read as a call


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said and called."""

    content: str
    calls: tuple[ToolCall, ...] = ()

    def written(self) -> str:
        """Return the answer as one text."""
        return json.dumps({"content": self.content, "calls": [asdict(call) for call in self.calls]}, ensure_ascii=False)


def read_answer(text: str) -> Answer:
    """Return the answer that was written as `text`; any other text is taken for what was said."""
    try:
        found = json.loads(text)
        content, calls = found["content"], tuple(ToolCall(**call) for call in found["calls"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return Answer(text)
    parts = [content, *(part for call in calls for part in (call.id, call.name, call.arguments, call.fault))]
    return Answer(content, calls) if all(isinstance(part, str) for part in parts) else Answer(text)


def read_action(action: str) -> Answer:
    """Return the answer whose calls are an action; an action that is not a call is taken for what was said."""
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


CUT = "it was cut off at the longest length of a reply. Answer more briefly"  # a call in it may lack arguments
TOOL, ARGUMENT = "act", "action"
_MOST_CHOICES = 100  # admissible actions that the tool lists
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what servers take for a name
_SHOWN = 200  # characters of what was wrong


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """What an answer comes to."""

    parsed: Parsed
    calls: tuple[ToolCall, ...] = ()  # those that can be said again; none: it is text
    faults: tuple[str, ...] = ()  # why each of them was not carried out; "": the environment's answer is its result
    lost: str = ""  # likewise of those that cannot be said again

    def results(self, shown: TurnContent) -> tuple[str, ...]:
        """Return the result of each call that is said again, of what the environment showed next."""
        told = iter(shown.results or (shown.text,))
        texts = [f"Not carried out: {fault}." if fault else next(told, "") for fault in self.faults]
        if texts and self.lost:
            texts[0] = f"[{self.lost}]\n{texts[0]}"
        return tuple(texts)


@dataclass(frozen=True)
class ToolSet:
    """Tools of one turn; without any of the environment's, one that takes an action as text."""

    observation: Observation

    @cached_property
    def tools(self) -> tuple[Schema, ...]:
        """What the server is told."""
        if self.observation.tools:
            return self.observation.tools
        argument: dict[str, object] = {"type": "string"}
        actions = dict.fromkeys(self.observation.admissible or ())
        if 0 < len(actions) <= _MOST_CHOICES:
            argument["enum"] = list(actions)
        return (function_schema(TOOL, "Carry out one action in the environment.", {ARGUMENT: argument}, [ARGUMENT]),)

    def read(self, answer: Answer) -> ToolCallResult:
        """Return what an answer comes to; nothing in it raises."""
        if not answer.calls:
            if self.observation.takes_text and (said := answer.content.strip()):
                return ToolCallResult(Parsed(said, is_valid=True))
            return ToolCallResult(invalid(f"it calls no tool. Call one of: {', '.join(self._names())[:_SHOWN]}"))
        most = self.observation.max_calls
        each = [self._parsed(call, tool_arguments(call.arguments)) for call in answer.calls[:most]]
        fitting = [parsed.action for parsed in each if parsed.is_valid]
        faults = [parsed.error for parsed in each] + [_surplus(most)] * (len(answer.calls) - most)
        if not fitting:
            parsed, faults[0] = each[0], ""  # what the environment shows says what was wrong
        else:
            parsed = Parsed(fitting[0] if len(fitting) == 1 else f"[{', '.join(fitting)}]", is_valid=True)
        again = [_sayable(call) for call in answer.calls]
        if any(call is None and not fault for call, fault in zip(again, faults, strict=True)):
            return ToolCallResult(parsed)  # a result without its call
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
        """Return in what arguments do not fit a tool's schema; "": they do."""
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
    """Return a call with its arguments as plain JSON; None: a server could not read it."""
    arguments = tool_arguments(call.arguments)
    if call.fault or not _NAME.fullmatch(call.name) or isinstance(arguments, str):
        return None
    return ToolCall(call.id, call.name, json.dumps(arguments, ensure_ascii=False))
