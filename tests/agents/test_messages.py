"""Conversations in text: what is said, what a call of the tool means, and what of it is said again."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.agents.backend import Message
from cairn.agents.calls import Answer, ToolCall, read_answer
from cairn.agents.context.messages import Messages, MessagesConfig
from cairn.agents.parse import Parsed
from cairn.core.errors import ConfigError
from cairn.core.records import Observation
from cairn.envs.tools import function_schema


def messages(**settings: Any) -> Messages:
    return Messages(MessagesConfig.model_validate(settings))


def seen(text: str, *admissible: str) -> Observation:
    return Observation(text=text, anchor=0, admissible=admissible or None)


def call(arguments: str, name: str = "act", call_id: str = "c") -> ToolCall:
    return ToolCall(call_id, name, arguments)


def shown(of: Messages, text: str) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in of.prompt(seen(text)).messages]


def played(of: Messages, *replies: str) -> list[tuple[str, str]]:
    """Return what is shown after these replies."""
    for number, reply in enumerate(replies):
        of.record(seen(f"text {number}"), "", (), reply)
    return shown(of, f"text {len(replies)}")


def test_replies_stand_in_the_conversation_as_they_were_said() -> None:
    of = messages(system="Be quick.", instruction="Play.", list_actions=True)
    assert of.prompt(seen("A hall.", "go", "stay")).messages == (
        Message("system", "Be quick."),
        Message("user", "Play.\n\nA hall.\n\nPossible actions:\ngo\nstay"),
    )
    of.record(seen("A hall.", "go", "stay"), "go", (), "  Go! ")
    assert shown(of, "A yard.")[2:] == [("assistant", "  Go! "), ("user", "A yard.")]


def test_a_conversation_that_starts_anew_counts_what_it_leaves_out() -> None:
    found = played(messages(instruction="Play.", history=1), "a", "b", "c")
    assert found == [
        ("user", "Play.\n\ntext 0\n\n(2 turns are not shown.)\n\ntext 2"),
        ("assistant", "c"),
        ("user", "text 3"),
    ]


def test_without_history_there_is_one_message() -> None:
    assert played(messages(instruction="Play.", history=0), "a", "b") == [
        ("user", "Play.\n\ntext 0\n\n(2 turns are not shown.)\n\ntext 2")
    ]


@pytest.mark.parametrize(
    ("form", "reply", "action", "is_valid"),
    [
        ("plain", " go \n", "go", True),
        ("plain", " ", "", False),
        ("tagged", "<think>x</think><action>Go</action>", "go", True),
        ("tagged", "go", "go", False),
        ("tool", Answer("", (call('{"action": " go "}'),)).written(), "go", True),
        ("tool", Answer("Hm.", (call('{"action": "go", "why": 1}'), call('{"action": "stay"}'))).written(), "go", True),
        ("tool", Answer("go", ()).written(), "", False),
        ("tool", Answer("", (call('{"action": ""}'),)).written(), "", False),
        ("tool", Answer("", (call('{"action": 3}'),)).written(), "", False),
        ("tool", Answer("", (call('{"acton": "go"}'),)).written(), "", False),
        ("tool", Answer("", (call('["go"]'),)).written(), "", False),
        ("tool", Answer("", (call('{"action": "go"'),)).written(), "", False),
        ("tool", Answer("", (call("[" * 100_000),)).written(), "", False),
        ("tool", Answer("", (call('{"action": "go"}', "leave"), call('{"action": "go"}'))).written(), "", False),
        ("tool", "no JSON", "", False),
        ("tool", '{"content": "x", "calls": [3]}', "", False),
    ],
)
def test_what_a_reply_asks_for(form: str, reply: str, action: str, is_valid: bool) -> None:
    parsed = messages(format=form).parse(reply)
    assert (parsed.action, parsed.is_valid) == (action, is_valid)


def test_a_call_is_answered_by_the_tool_and_anything_else_by_the_user() -> None:
    of = messages(format="tool", instruction="Play.")
    both = Answer("Hm.", (call('{"action": "go",   "why": "x"}', call_id="one"), call("{", call_id="two"))).written()
    of.record(seen("text 0"), "go", (), both)
    of.record(seen("text 1"), "", (), Answer("I would rather not.").written())
    of.record(seen("text 2"), "", (), Answer("", (call("{"),)).written())
    made = ToolCall("one", "act", '{"action": "go", "why": "x"}')
    assert of.prompt(seen("text 3")).messages == (
        Message("user", "Play.\n\ntext 0"),
        Message("assistant", "Hm.", made),
        Message("tool", "text 1", made),
        Message("assistant", "I would rather not."),
        Message("user", "text 2"),
        Message("assistant", ""),
        Message("user", "text 3"),
    )


def test_a_conversation_that_starts_anew_begins_with_no_tools_answer() -> None:
    of = messages(format="tool", history=1)
    for number in range(3):
        of.record(
            seen(f"text {number}"), "go", (), Answer("", (call('{"action": "go"}', call_id=str(number)),)).written()
        )
    assert [(m.role, m.call.id if m.call else None) for m in of.prompt(seen("text 3")).messages] == [
        ("user", None),
        ("assistant", "2"),
        ("tool", "2"),
    ]


@pytest.mark.parametrize(("count", "is_listed"), [(0, False), (1, True), (100, True), (101, False)])
def test_the_tool_lists_actions_while_they_are_few(count: int, is_listed: bool) -> None:
    actions = tuple(f"go {i}" for i in range(count))
    (tool,) = messages(format="tool").prompt(seen("A hall.", *actions)).tools
    argument = {"type": "string", "enum": list(actions)} if is_listed else {"type": "string"}
    assert tool["function"]["name"] == "act"
    assert tool["function"]["parameters"]["properties"] == {"action": argument}
    assert messages().prompt(seen("A hall.", *actions)).tools == ()


def test_an_environments_own_tools_are_offered_and_a_call_of_one_is_the_action() -> None:
    tool = function_schema("read_file", "Show a file.", {"path": {"type": "string"}}, ["path"])
    desk, of = Observation(text="A desk.", anchor=1, tools=(tool,)), messages(format="tool")
    assert of.prompt(desk).tools == (tool,)
    reply = Answer("Reading.", (ToolCall("c", "read_file", ' {"path": "\\u00e9"}'),)).written()
    action = '{"name": "read_file", "arguments": {"path": "\u00e9"}}'
    assert of.parse(reply) == Parsed(action=action, is_valid=True)
    of.record(desk, action, (), reply)
    made = ToolCall("c", "read_file", '{"path": "\u00e9"}')
    assert of.prompt(desk).messages[1:] == (Message("assistant", "Reading.", made), Message("tool", "A desk.", made))
    for arguments in ("", "[]", "{"):
        assert not of.parse(Answer("", (ToolCall("c", "read_file", arguments),)).written()).is_valid


def test_an_answer_as_text_comes_back() -> None:
    answer = Answer('{"content": "x", "calls": []}\n\u65e5', (call("{'", "n", ""), call("")))
    assert read_answer(answer.written()) == answer


def test_there_are_no_ids() -> None:
    assert messages().prompt(seen("A hall.")).ids == ()
    with pytest.raises(ConfigError, match="makes text and no ids"):
        messages().render("go")
