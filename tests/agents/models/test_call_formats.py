"""Calls in the formats of model families: parsed replies, malformed calls as data, and no exception for any reply."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.agents.models.call_formats import CallFormat, call_format, load_format
from cairn.agents.models.templates import call_format_files, call_format_of, load_template, shipped_templates
from cairn.agents.tool_calls import Answer, ToolCall
from cairn.core.records import function_schema
from cairn.core.tool_arguments import tool_arguments

FORMATS = {file.stem: load_format(file) for file in call_format_files()}
TOOL = function_schema("look", "Look.", {"thing": {"type": "string"}, "times": {"type": "integer"}}, ["thing"])
CALL = '{"name": "look", "arguments": {"thing": "a"}}'


def read(name: str, reply: str) -> Answer | str:
    return FORMATS[name].read(reply, [TOOL])


def called(*arguments: dict[str, Any], content: str = "") -> Answer:
    calls = (ToolCall(f"call{n:05}", "look", json.dumps(each)) for n, each in enumerate(arguments))
    return Answer(content, tuple(calls))


A, B = {"thing": "a"}, {"thing": "b", "times": 2}
SECOND = '{"name": "look", "arguments": {"thing": "b", "times": 2}}'


def in_xml(**values: object) -> str:
    parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    return f"<tool_call>\n<function=look>\n{parameters}</function>\n</tool_call>"


# Two calls as the models of each family write them.
TWO = {
    "hermes": f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{SECOND}\n</tool_call>",
    "qwen3-coder": f"{in_xml(thing='a')}\n{in_xml(thing='b', times=2)}",
    "mistral": f"[TOOL_CALLS] [{CALL}, {SECOND}]",
    "mistral-v11": '[TOOL_CALLS]look[ARGS]{"thing": "a"}'
    '[TOOL_CALLS]look[CALL_ID]abcdefgh1[ARGS]{"thing": "b", "times": 2}',
    "gemma-4": '<|tool_call>call:look{thing:<|"|>a<|"|>}<tool_call|>'
    '<|tool_call>call:look{thing:<|"|>b<|"|>,times:2}<tool_call|>',
}


@pytest.mark.parametrize("name", TWO)
def test_several_calls_are_read_in_their_order(name: str) -> None:
    assert read(name, TWO[name]) == called(A, B)
    assert read(name, f"I look.\n{TWO[name]}") == called(A, B, content="I look.")


def test_every_format_has_its_calls_here() -> None:
    assert {*TWO, "llama-3"} == set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_plain_text_is_not_parsed_as_a_call(name: str) -> None:
    for reply in ("I look.", "", "Action: look", f"```json\n{CALL}\n```", "look(thing='a')"):
        assert read(name, reply) == Answer(reply.strip())


@pytest.mark.parametrize("before", ["", "\n", "<|python_tag|>"])
@pytest.mark.parametrize("key", ["parameters", "arguments"])
def test_a_whole_reply_of_json_is_a_call_of_llama(before: str, key: str) -> None:
    assert read("llama-3", before + CALL.replace("arguments", key)) == called(A)
    assert read("llama-3", f"I look. {CALL}") == Answer(f"I look. {CALL}")


def test_a_thought_holds_no_call() -> None:
    call = TWO["hermes"]
    assert read("hermes", f"<think>\nPerhaps {call}\n</think>\n\n{call}") == called(A, B)
    assert read("hermes", f"<think>\nPerhaps {call}") == Answer("")  # it never ends
    assert read("hermes", f"pre {call} Done") == called(A, B, content="pre\n\nDone")


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ("<tool_call>{bad}</tool_call>", "not valid JSON: Expecting property name"),
        ("<tool_call></tool_call>", "not valid JSON: Expecting value"),
        ('<tool_call>{"name": "look", "arg', "not valid JSON: Unterminated string"),
        ("<tool_call>[]</tool_call>", "not a JSON object with a name"),
        ("<tool_call>7</tool_call>", "not a JSON object with a name"),
        ('<tool_call>{"arguments": {}}</tool_call>', "not a JSON object with a name"),
        ('<tool_call>{"name": 7, "arguments": {}}</tool_call>', "not a JSON object with a name"),
        ('<tool_call>"{}"</tool_call>', "not valid JSON: it is a text"),
        (f"<tool_call>bad</tool_call><tool_call>{CALL}</tool_call>", "not valid JSON: Expecting value"),
        ("<tool_call>" + "[" * 100_000, "it cannot be read: maximum recursion depth"),
        ("<tool_call>" + "9" * 5000 + "</tool_call>", "it cannot be read: Exceeds the limit"),
    ],
)
def test_a_malformed_call_returns_an_error(reply: str, fault: str) -> None:
    found = read("hermes", reply)
    assert fault in (found if isinstance(found, str) else found.calls[0].fault)


def test_a_malformed_later_call_leaves_the_first() -> None:
    found = read("hermes", f"<tool_call>{CALL}</tool_call><tool_call>bad</tool_call>")
    assert isinstance(found, Answer)
    assert found.calls[:1] == called(A).calls
    assert [bool(call.fault) for call in found.calls] == [False, True]


@pytest.mark.parametrize("text", ["</tool_call>", "<tool_call>", "a </tool_call> b", "}", '"', "<think>", "\\", "\n"])
def test_marks_within_an_argument_are_text(text: str) -> None:
    call = json.dumps({"name": "look", "arguments": {"thing": text}})
    assert read("hermes", f"<tool_call>\n{call}\n</tool_call>") == called({"thing": text})


@pytest.mark.parametrize("given", ["", ', "arguments": null', ', "arguments": {}', ', "arguments": "{}"'])
def test_no_arguments_in_any_form(given: str) -> None:
    found = read("hermes", f'<tool_call>{{"name": "look"{given}}}</tool_call>')
    assert isinstance(found, Answer)
    assert found.calls[0].arguments in ("null", "{}")


def test_an_unclosed_xml_call_is_not_parsed_as_a_call_with_fewer_arguments() -> None:
    whole = in_xml(thing="a")
    assert read("qwen3-coder", whole) == called(A)
    for end in range(len("<tool_call>"), len(whole)):
        found = read("qwen3-coder", whole[:end])
        assert isinstance(found, Answer)
        assert not found.calls


def test_values_in_xml_take_the_types_of_the_schema() -> None:
    reply = in_xml(thing=7, times=7)
    assert read("qwen3-coder", reply) == called({"thing": "7", "times": 7})
    assert FORMATS["qwen3-coder"].read(reply) == called({"thing": "7", "times": "7"})


PIECES = [
    *"{}[]\"':,\\/<> \n\x01\x02\x00", "<tool_call>", "</tool_call>", "<think>", "</think>", "<function=",
    "</function>", "<parameter=", "</parameter>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "<|tool_call>", "call:",
    "<tool_call|>", '<|"|>', "look", CALL, "null", "NaN", "1e999", "\ud800", "<|python_tag|>", "<|eot_id|>", "</s>",
]  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30))
def test_no_reply_raises_and_every_call_can_be_judged(name: str, pieces: list[str]) -> None:
    found = read(name, "".join(pieces))
    for call in found.calls if isinstance(found, Answer) else ():
        assert isinstance(call.name, str)
        assert isinstance(tool_arguments(call.arguments), (dict, str))


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_no_hostile_reply_raises(name: str) -> None:
    rng = random.Random(0)
    for _ in range(3000):
        read(name, "".join(rng.choices(PIECES, k=rng.randrange(60))))


def test_each_shipped_template_has_a_format_and_the_one_with_the_most_marks_is_meant() -> None:
    for name in shipped_templates():
        assert call_format_of(load_template(name)) is not None
    for template, name in {
        "<tool_call>": "hermes",
        "<tool_call><function=": "qwen3-coder",
        "[TOOL_CALLS]": "mistral",
        "[TOOL_CALLS][ARGS]": "mistral-v11",
    }.items():
        file = call_format_of(template)
        assert file is not None
        assert file.stem == name
    assert call_format_of("<|im_start|>") is None


class Tokenizer:
    """A tokenizer whose model's family is not known, with a response template of its own, or none."""

    chat_template = "{{ messages }}"

    def __init__(self, template: dict[str, Any] | None) -> None:
        self.response_template = template


def test_a_response_template_of_the_tokenizers_own_is_taken_where_the_family_is_not_known() -> None:
    field = {"open": "<<", "close": ">>", "content": "json", "repeats": True, "transform": "{content}"}
    own = {"start_anchor": "A:", "fields": {"content": {}, "tool_calls": field}}
    found = call_format(Tokenizer(own))
    assert isinstance(found, CallFormat)
    assert found.read(f"x <<{CALL}>>") == called(A, content="x")
    assert "it cannot be read" in str(found.read("x <<bad>>"))
    assert call_format(Tokenizer(None)) is None
