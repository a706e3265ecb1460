"""Parsed tool calls: one valid call is an action; any other answer is invalid with an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cairn.agents.conversation import TurnContent
from cairn.agents.forms.base import Parsed
from cairn.agents.tool_calls import Answer, ToolCall, ToolCallResult, ToolSet, read_action, read_answer
from cairn.core.records import Observation, function_schema
from cairn.core.tool_arguments import tool_arguments

MOVE = function_schema(
    "move",
    "Move a thing.",
    {
        "what": {"type": "string"},
        "to": {"enum": ["desk", "bed"]},
        "times": {"type": "integer", "minimum": 1},
        "path": {"type": "array", "items": {"type": "string"}},
    },
    ["what", "to"],
)
WAIT = function_schema("wait", "Wait.", {}, [])
OWN = ToolSet(Observation(text="", anchor=0, tools=(MOVE, WAIT)))
SEVERAL = ToolSet(Observation(text="", anchor=0, tools=(MOVE, WAIT), max_calls=3, takes_text=True))
ACT = ToolSet(Observation(text="", anchor=0, admissible=("go", "stay")))


def called(arguments: object, name: str = "move") -> ToolCall:
    return ToolCall("c", name, arguments if isinstance(arguments, str) else json.dumps(arguments))


def read(*calls: ToolCall, offer: ToolSet = OWN) -> ToolCallResult:
    return offer.read(Answer("", calls))


@pytest.mark.parametrize(
    ("arguments", "name", "why"),
    [
        ({"what": "mug"}, "move", "the call of move does not fit its schema: 'to' is a required property"),
        ({"what": "mug", "to": "sky"}, "move", "schema: to: 'sky' is not one of those listed"),
        ({"what": 7, "to": "bed"}, "move", "schema: what: 7 is not of type 'string'"),
        ({"what": "mug", "to": "bed", "times": 0}, "move", "schema: times: 0 is less than the minimum of 1"),
        ({"what": "mug", "to": "bed", "times": 1.5}, "move", "schema: times: 1.5 is not of type 'integer'"),
        ({"what": "mug", "to": "bed", "path": ["a", 2]}, "move", "schema: path.1: 2 is not of type 'string'"),
        ({"what": "mug", "to": "bed", "why": ""}, "move", "('why' was unexpected)"),
        ({"x": 1}, "wait", "('x' was unexpected)"),
        ({}, "walk", "there is no tool 'walk'. Call one of: move, wait"),
        ({}, "", "there is no tool ''"),
        ({}, "Move", "there is no tool 'Move'"),
        ("{'a': 1}", "wait", "in the call of wait, its arguments are not JSON: Expecting property name"),
        ('{"what": NaN, "to": "bed"}', "move", "not JSON: Out of range float"),
        ('{"what": "mug", "to": "bed", "times": 1e999}', "move", "not JSON: Out of range float"),
        ('{"a": ' * 100_000, "wait", "not JSON"),
        ("[1]", "wait", "its arguments are not a JSON object"),
        ("7", "wait", "its arguments are not a JSON object"),
    ],
)
def test_the_error_of_a_call_that_does_not_fit_names_the_mismatch(arguments: object, name: str, why: str) -> None:
    parsed = read(called(arguments, name)).parsed
    assert (parsed.action, parsed.is_valid) == ("", False)
    assert why in parsed.error


def test_a_call_that_fits_is_the_action() -> None:
    found = read(called({"what": "m\u00fcg", "to": "bed"}))
    assert found.parsed == Parsed('{"name": "move", "arguments": {"what": "m\u00fcg", "to": "bed"}}', is_valid=True)
    assert read(called("{}", "wait")).parsed.action == '{"name": "wait", "arguments": {}}'


def test_the_tool_of_an_environment_without_any_takes_an_action_that_it_lists() -> None:
    assert read(called({"action": "go"}, "act"), offer=ACT).parsed == Parsed("go", is_valid=True)
    assert "action: 'fly' is not one of those listed" in read(called({"action": "fly"}, "act"), offer=ACT).parsed.error
    free = ToolSet(Observation(text="", anchor=0))
    assert read(called({"action": " fly "}, "act"), offer=free).parsed == Parsed("fly", is_valid=True)
    assert "action is empty" in read(called({"action": " "}, "act"), offer=free).parsed.error


def test_the_error_of_an_answer_without_a_call_lists_the_tools() -> None:
    assert OWN.read(Answer("I move the mug.")).parsed.error == "it calls no tool. Call one of: move, wait"


def test_the_first_of_several_calls_counts_and_the_others_are_answered() -> None:
    first, second = called({"what": "mug", "to": "bed"}), ToolCall("d", "wait", "{}")
    found = read(first, second)
    assert (found.parsed.is_valid, found.calls) == (True, (first, second))
    assert found.results(TurnContent("It is on the bed.")) == (
        "It is on the bed.",
        "Not carried out: one call is carried out at a turn, and another came first.",
    )
    found = read(ToolCall("d", "walk", "{}"), first)  # not the second in its stead
    assert (found.parsed.is_valid, len(found.calls)) == (False, 2)
    assert found.results(TurnContent("There is no such tool."))[0] == "There is no such tool."


def test_several_calls_are_one_action_where_the_environment_takes_them() -> None:
    move, wait, walk = called({"what": "mug", "to": "bed"}), called("{}", "wait"), called("{}", "walk")
    found = read(move, walk, wait, wait, offer=SEVERAL)
    assert json.loads(found.parsed.action) == [
        {"name": "move", "arguments": {"what": "mug", "to": "bed"}},
        {"name": "wait", "arguments": {}},
    ]
    assert read_action(found.parsed.action).calls[1].name == "wait"
    assert (found.parsed.is_valid, found.calls) == (True, (move, walk, wait, wait))
    assert found.results(TurnContent("Result 1: Moved. ...", ("Moved.", "Waited."))) == (
        "Moved.",
        "Not carried out: there is no tool 'walk'. Call one of: move, wait.",
        "Waited.",
        "Not carried out: a turn has at most 3 calls.",
    )
    one = read(walk, wait, offer=SEVERAL)  # one that fits is a call as ever
    assert one.parsed.action == '{"name": "wait", "arguments": {}}'
    assert one.results(TurnContent("Waited."))[1] == "Waited."
    unreadable = read(ToolCall("e", "", "", fault="its call is not valid JSON"), wait, offer=SEVERAL)
    assert unreadable.calls == (wait,)  # the other cannot be said again
    assert unreadable.results(TurnContent("Waited.")) == ("[its call is not valid JSON]\nWaited.",)
    assert not read(walk, walk, offer=SEVERAL).parsed.is_valid


def test_a_text_is_an_action_where_the_environment_takes_it() -> None:
    assert SEVERAL.read(Answer(" 42 ")).parsed == Parsed("42", is_valid=True)
    assert not SEVERAL.read(Answer("  ")).parsed.is_valid
    assert not OWN.read(Answer("42")).parsed.is_valid


@pytest.mark.parametrize("call", [called("{"), called("{}", "two words"), called("{}", ""), called("{}", "x" * 65)])
def test_a_call_that_servers_cannot_parse_is_left_out_of_the_history(call: ToolCall) -> None:
    assert read(call).calls == ()
    assert read(call, called("{}", "wait")).calls == ()  # no answer to the first, so none to the others
    assert read(called("{}", "wait"), call).calls == (called("{}", "wait"),)


NAMES = st.sampled_from(["act", "move", "wait", "", "walk", "a b", "\ud800"])
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(["go", "mug", "bed", "\ud800"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["action", "what", "to", "times", "path", "x"]), inner, max_size=4),
    ),
    max_leaves=8,
)
ARGUMENTS = st.one_of(st.text(max_size=30), JSON.map(json.dumps))
CALLS = st.lists(st.builds(ToolCall, st.text(max_size=4), NAMES, ARGUMENTS), max_size=3)


@settings(max_examples=500, deadline=None)
@given(st.sampled_from([OWN, ACT]), st.text(max_size=10), CALLS)
def test_any_answer_is_one_action_or_an_error(offer: ToolSet, content: str, calls: list[ToolCall]) -> None:
    answer = Answer(content, tuple(calls))
    assert read_answer(answer.written()) == answer
    found = offer.read(answer)
    assert found.parsed.is_valid == bool(found.parsed.action) == (found.parsed.error == "")
    if found.parsed.is_valid:
        assert fits(calls[0], offer)
    elif calls:
        assert not fits(calls[0], offer)
    for call in found.calls:
        assert isinstance(json.loads(call.arguments, parse_constant=pytest.fail), dict)
    assert len(found.results(TurnContent("x"))) == len(found.calls)


def fits(call: ToolCall, offer: ToolSet) -> bool:
    """Check by hand the conditions of the schemas above."""
    given_ = tool_arguments(call.arguments)
    if isinstance(given_, str):
        return False
    if offer is ACT:
        return call.name == "act" and given_.keys() == {"action"} and given_["action"] in ("go", "stay")
    if call.name == "wait":
        return not given_
    path, times = given_.get("path", []), given_.get("times", 1)
    return (
        call.name == "move"
        and {"what", "to"} <= given_.keys() <= {"what", "to", "times", "path"}
        and isinstance(given_["what"], str)
        and given_["to"] in ("desk", "bed")
        and isinstance(path, list)
        and all(isinstance(part, str) for part in path)
        and is_whole(times)
    )


def is_whole(value: Any) -> bool:  # Any: JSON
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == int(value) and value >= 1


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=40), JSON.map(json.dumps)))
@example("[" * 100_000)
@example('{"content": 1, "calls": []}')
@example('{"content": "", "calls": [{"id": 1, "name": "a", "arguments": "{}"}]}')
@example('{"content": "", "calls": [{"id": "", "name": "a"}]}')
def test_any_text_is_read_as_an_answer(text: str) -> None:
    found = read_answer(text)
    assert isinstance(found.content, str)
    assert not OWN.read(found).parsed.is_valid
