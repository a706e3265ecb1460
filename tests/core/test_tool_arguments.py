"""Arguments of tool calls mean the same in every form and in everything that reads calls."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.agents.backend import Request
from cairn.agents.backends.http.chat import ChatCompletions
from cairn.agents.config import SamplingConfig
from cairn.agents.models.call_formats import load_format
from cairn.agents.models.templates import call_format_files
from cairn.agents.tool_calls import Answer, ToolSet, read_answer
from cairn.core.records import Observation, function_schema
from cairn.core.tool_arguments import tool_arguments
from cairn.envs.code import actions as code
from cairn.envs.gui import actions as gui

HERMES = load_format(next(file for file in call_format_files() if file.stem == "hermes"))
ABSENT = object()
NONE: dict[str, object] = {  # forms of no arguments
    "absent": ABSENT, "null": None, "empty": "", "blank": " \n", "an object": {}, "text of an object": "{}",
    "text of null": "null", "text twice": '"{}"', "an empty text twice": '""',
}  # fmt: skip
GIVEN = {"path": "a.py", "content": "x = '</tool_call>'\n"}
SOME: dict[str, object] = {  # forms of these
    "an object": GIVEN, "text of an object": json.dumps(GIVEN), "text twice": json.dumps(json.dumps(GIVEN)),
}  # fmt: skip


def call_of(name: str, arguments: object) -> dict[str, object]:
    return {"name": name} if arguments is ABSENT else {"name": name, "arguments": arguments}


def by_code(name: str, arguments: object) -> dict[str, Any] | None:
    found = code.parse(json.dumps(call_of(name, arguments)))
    return dict(found.arguments) if isinstance(found, code.CodeCall) else None


def by_gui(name: str, arguments: object) -> dict[str, Any] | None:
    found = gui.parse(json.dumps(call_of(name, arguments)), tuple(gui.FUNCTIONS))
    return dict(found.arguments) if isinstance(found, gui.GuiCall) else None


def by_text(name: str, arguments: object) -> dict[str, Any] | None:
    found = HERMES.read(f"<tool_call>\n{json.dumps(call_of(name, arguments))}\n</tool_call>")
    return None if isinstance(found, str) else _carried_out(name, found)


def by_server(name: str, arguments: object) -> dict[str, Any] | None:
    message = {"content": None, "tool_calls": [{"id": "1", "function": call_of(name, arguments)}]}
    request = Request(prompt_ids=(), extends=False, choices=None, rng=random.Random(0), tools=code.schemas())
    reply = ChatCompletions(SamplingConfig()).read(0, request, {"choices": [{"message": message}]}, 0)
    return _carried_out(name, read_answer(reply.text or ""))


def _carried_out(name: str, answer: Answer) -> dict[str, Any] | None:
    schema = function_schema(name, "", {"path": {"type": "string"}, "content": {"type": "string"}}, [])
    parsed = ToolSet(Observation(text="", anchor=0, tools=(schema,))).read(answer).parsed
    return json.loads(parsed.action)["arguments"] if parsed.is_valid else None


READERS: dict[str, tuple[Callable[[str, object], dict[str, Any] | None], str]] = {  # with a call without arguments
    "code": (by_code, "list_files"),
    "gui": (by_gui, "go_back"),
    "text": (by_text, "wait"),
    "server": (by_server, "wait"),
}


@pytest.mark.parametrize("form", NONE)
@pytest.mark.parametrize("reader", READERS)
def test_no_arguments_are_read_in_every_form(reader: str, form: str) -> None:
    read, name = READERS[reader]
    assert read(name, NONE[form]) == {}


@pytest.mark.parametrize("form", SOME)
@pytest.mark.parametrize("reader", ["code", "text", "server"])
def test_arguments_are_read_in_every_form(reader: str, form: str) -> None:
    assert READERS[reader][0]("write_file", SOME[form]) == GIVEN


@pytest.mark.parametrize("form", ["an object", "text of an object", "text twice"])
def test_arguments_of_gui_actions_are_read_in_every_form(form: str) -> None:
    given_ = {"bid": "7", "value": "</tool_call>"}
    said = {"an object": given_, "text of an object": json.dumps(given_), "text twice": json.dumps(json.dumps(given_))}
    assert by_gui("fill", said[form]) == given_


@pytest.mark.parametrize(
    "wrong", [7, [], [1], "[1]", "{", "NaN", '{"a": NaN}', '"\\"{}\\""', True, "x", '{"a": ' * 9999]
)
def test_anything_else_is_refused_in_words(wrong: object) -> None:
    assert "its arguments are not" in str(tool_arguments(wrong))
    assert by_code("list_files", wrong) is by_gui("go_back", wrong) is by_text("wait", wrong) is None
    assert by_server("wait", wrong) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
)


@given(st.dictionaries(st.text(), VALUES))
def test_encoding_once_or_twice_changes_nothing(arguments: dict[str, Any]) -> None:
    once = json.dumps(arguments)
    assert tool_arguments(arguments) == tool_arguments(once) == tool_arguments(json.dumps(once)) == arguments


def test_an_end_within_a_text_does_not_end_the_call() -> None:
    first, second = call_of("say", {"text": "a </tool_call> <tool_call> b"}), call_of("wait", ABSENT)
    found = HERMES.read(f"<tool_call>{json.dumps(first)}</tool_call> and <tool_call>{json.dumps(second)}")
    assert isinstance(found, Answer)
    assert [call.name for call in found.calls] == ["say", "wait"]
    assert "not valid JSON" in str(HERMES.read('<tool_call>{"name": "say", </tool_call>'))
