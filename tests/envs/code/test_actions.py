"""Tool calls: valid ones, and the error of each mistake."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.envs.code.actions import TOOLS, CodeCall, ToolCallError, parse, schemas, write_action
from cairn.envs.code.workshop import Workshop

EDIT = "edit_file a/b.py\n<<<<<<<\nold\n  line\n=======\nnew\n>>>>>>>"
CALLS = [
    ("run_python\nprint(1)\nx", CodeCall(tool="run_python", arguments={"code": "print(1)\nx"})),
    ("run_python print(1)", CodeCall(tool="run_python", arguments={"code": "print(1)"})),
    ("shell ls -l | wc", CodeCall(tool="shell", arguments={"command": "ls -l | wc"})),
    ("shell\nfor f in *\ndo true; done", CodeCall(tool="shell", arguments={"command": "for f in *\ndo true; done"})),
    ("write_file a b.txt\nx\ny", CodeCall(tool="write_file", arguments={"path": "a b.txt", "content": "x\ny\n"})),
    ("write_file a\n", CodeCall(tool="write_file", arguments={"path": "a", "content": ""})),
    (EDIT, CodeCall(tool="edit_file", arguments={"path": "a/b.py", "old": "old\n  line", "new": "new"})),
    (
        EDIT.replace("new\n", ""),
        CodeCall(tool="edit_file", arguments={"path": "a/b.py", "old": "old\n  line", "new": ""}),
    ),
    ("read_file a", CodeCall(tool="read_file", arguments={"path": "a"})),
    ("read_file a 3", CodeCall(tool="read_file", arguments={"path": "a", "first": 3})),
    ("read_file a 3 9", CodeCall(tool="read_file", arguments={"path": "a", "first": 3, "last": 9})),
    ("\nlist_files  \n", CodeCall(tool="list_files")),
    ("run_tests", CodeCall(tool="run_tests")),
    ("submit", CodeCall(tool="submit")),
    ("submit [1, 2]", CodeCall(tool="submit", arguments={"answer": "[1, 2]"})),
    ('{"name": "submit"}', CodeCall(tool="submit")),
    ('{"name": "read_file", "arguments": {"path": "a", "last": 2}}',
     CodeCall(tool="read_file", arguments={"path": "a", "last": 2})),
    ('{"name": "write_file", "arguments": {"path": "a", "content": ""}}',
     CodeCall(tool="write_file", arguments={"path": "a", "content": ""})),
]  # fmt: skip
MISTAKES = [
    ("", "Unknown tool ''. Tools: run_python, shell, write_file"),
    ("look around", "Unknown tool 'look'"),
    ("run_python", "run_python takes code; missing: code."),
    ("write_file", "write_file takes path, content; missing: path."),
    ("edit_file a\nno marks", "edit_file takes path, old, new; missing: old, new."),
    ("read_file", "read_file takes path, first (optional), last (optional); missing: path."),
    ("read_file a b", "of a wrong type: first."),
    ("read_file a 0", "of a wrong type: first."),
    ("{", "This is not JSON: "),
    ("{}", "Unknown tool 'None'"),
    ('{"name": ["submit"]}', "Unknown tool \"['submit']\""),
    (
        '{"name": "submit", "arguments": 3}',
        "Expected the arguments of submit as an object: its arguments are not a JSON object.",
    ),
    ('{"name": "shell", "arguments": {"command": 3, "x": 1}}', "unknown: x; of a wrong type: command."),
    ('{"name": "read_file", "arguments": {"path": "a", "first": true}}', "of a wrong type: first."),
]


@pytest.mark.parametrize(("action", "call"), CALLS)
def test_calls(action: str, call: CodeCall) -> None:
    assert parse(action) == call


@pytest.mark.parametrize(("action", "said"), MISTAKES)
def test_mistakes_return_errors(action: str, said: str) -> None:
    found = parse(action)
    assert isinstance(found, ToolCallError)
    assert said in found.text


@given(
    st.text()
    | st.tuples(st.sampled_from(sorted(TOOLS)), st.text()).map(" ".join)
    | st.recursive(st.none() | st.integers() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)).map(
        json.dumps
    )
)
def test_any_text_is_a_call_or_a_mistake(action: str) -> None:
    found = parse(action)
    assert isinstance(found, ToolCallError) or set(found.arguments) <= set(TOOLS[found.tool].properties)


def test_every_tool_except_submit_is_a_method_of_the_workshop() -> None:
    assert {f"_{name}" for name in TOOLS if name != "submit"} <= set(vars(Workshop))


def test_schemas_are_those_of_a_model_server() -> None:
    by_name = {schema["function"]["name"]: schema["function"]["parameters"] for schema in schemas()}
    assert set(by_name) == set(TOOLS)
    assert by_name["read_file"]["required"] == ["path"]
    assert by_name["edit_file"]["required"] == ["path", "old", "new"]
    assert not any(parameters["additionalProperties"] for parameters in by_name.values())
    json.dumps(schemas())


@given(st.text(st.sampled_from("ab \r\n\t{<=>"), max_size=12))
def test_a_file_is_written_as_it_is(content: str) -> None:
    assert parse(write_action("a.py", content)) == CodeCall(
        tool="write_file", arguments={"path": "a.py", "content": content}
    )


@pytest.mark.parametrize("content", ["a\r\nb\r\n", "a\n\n"])
def test_a_file_that_plain_text_cannot_express_is_written_as_json(content: str) -> None:
    assert write_action("a.py", content).startswith("{")
