"""Conversations in text: messages, calls of the tool, and earlier turns in later prompts."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.agents.agent import load_agent
from cairn.agents.backend import Message
from cairn.agents.context.messages import Messages, MessagesConfig
from cairn.agents.evaluation.fingerprint import fingerprint
from cairn.agents.forms.base import Parsed
from cairn.agents.tool_calls import Answer, ToolCall, read_answer
from cairn.core.config import build, nest
from cairn.core.errors import ConfigError
from cairn.core.plugins import CONTEXTS
from cairn.core.records import Observation, function_schema


def messages(**settings: Any) -> Messages:
    return Messages(MessagesConfig.model_validate(settings))


def seen(text: str, *admissible: str) -> Observation:
    return Observation(text=text, anchor=0, admissible=admissible or None)


def call(arguments: str, name: str = "act", call_id: str = "c") -> ToolCall:
    return ToolCall(call_id, name, arguments)


def shown(of: Messages, text: str) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in of.prompt(seen(text)).messages]


def played(of: Messages, *replies: str) -> list[tuple[str, str]]:
    """Return the shown messages after these replies."""
    for number, reply in enumerate(replies):
        of.record(seen(f"text {number}"), "", (), reply)
    return shown(of, f"text {len(replies)}")


def test_the_conversation_keeps_replies_verbatim() -> None:
    of = messages(system="Be quick.", instruction="Play.", list_actions=True)
    assert of.prompt(seen("A hall.", "go", "stay")).messages == (
        Message("system", "Be quick."),
        Message("user", "Play.\n\nA hall.\n\nPossible actions:\ngo\nstay"),
    )
    of.record(seen("A hall.", "go", "stay"), "go", (), "  Go! ")
    assert shown(of, "A yard.")[2:] == [("assistant", "  Go! "), ("user", "A yard.")]


def test_a_restarted_conversation_counts_the_turns_that_it_omits() -> None:
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
        ("tool", Answer("Hm.", (call('{"action": "go"}'), call('{"action": "stay"}'))).written(), "go", True),
        ("tool", Answer("", (call('{"action": "go", "why": 1}'),)).written(), "", False),
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
def test_a_reply_is_parsed_into_an_action(form: str, reply: str, action: str, is_valid: bool) -> None:
    parsed = messages(format=form).parse(reply)
    assert (parsed.action, parsed.is_valid) == (action, is_valid)


def test_a_call_is_answered_by_a_tool_message_and_any_other_reply_by_an_error_of_the_user() -> None:
    of = messages(format="tool", instruction="Play.")
    both = Answer("Hm.", (call('{"action":    "go"}', call_id="one"), call("{", call_id="two"))).written()
    of.record(seen("text 0"), "go", (), both)
    of.record(seen("text 1"), "", (), Answer("I would rather not.").written())
    of.record(seen("text 2"), "", (), Answer("", (call("{"),)).written())
    of.record(seen("text 3"), "", (), Answer("", (call("{}", "leap", call_id="leap"),)).written())
    made, unknown = ToolCall("one", "act", '{"action": "go"}'), ToolCall("leap", "leap", "{}")
    broken = "in the call of act, its arguments are not JSON: Expecting property name enclosed in double quotes"
    assert of.prompt(seen("text 4")).messages == (
        Message("user", "Play.\n\ntext 0"),
        Message("assistant", "Hm.", (made,)),
        Message("tool", "text 1", (made,)),
        Message("assistant", "I would rather not."),
        Message("user", "[Your answer was not valid: it calls no tool. Call one of: act.]\n\ntext 2"),
        Message("assistant", ""),
        Message("user", f"[Your answer was not valid: {broken}: line 1 column 2 (char 1).]\n\ntext 3"),
        Message("assistant", "", (unknown,)),
        Message(
            "tool",
            "[Your answer was not valid: there is no tool 'leap'. Call one of: act.]\n\ntext 4",
            (unknown,),
        ),
    )


def test_all_calls_of_a_reply_are_kept_and_only_the_first_has_the_environments_result() -> None:
    of = messages(format="tool")
    first, second = call('{"action": "go"}', call_id="one"), call('{"action": "stay"}', call_id="two")
    of.record(seen("text 0"), "go", (), Answer("", (first, second)).written())
    assert of.prompt(seen("text 1")).messages[1:] == (
        Message("assistant", "", (first, second)),
        Message("tool", "text 1", (first,)),
        Message("tool", "Not carried out: one call is carried out at a turn, and another came first.", (second,)),
    )


def test_a_restarted_conversation_does_not_begin_with_a_tool_message() -> None:
    of = messages(format="tool", history=1)
    for number in range(3):
        of.record(
            seen(f"text {number}"), "go", (), Answer("", (call('{"action": "go"}', call_id=str(number)),)).written()
        )
    assert [(m.role, m.calls[0].id if m.calls else None) for m in of.prompt(seen("text 3")).messages] == [
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
    said = of.prompt(desk).messages[1:]
    assert said == (Message("assistant", "Reading.", (made,)), Message("tool", "A desk.", (made,)))
    for arguments in ("", "[]", "{", "{}", '{"path": 1}', '{"path": "a", "more": 1}'):
        assert not of.parse(Answer("", (ToolCall("c", "read_file", arguments),)).written()).is_valid


@pytest.mark.parametrize("calls", [(), (ToolCall("c", "look", "{}"),)])
def test_a_reply_that_was_cut_calls_nothing_and_the_model_sees_that_it_was_cut(calls: tuple[ToolCall, ...]) -> None:
    desk = Observation(text="A desk.", anchor=1, tools=(function_schema("look", "Look.", {}, []),), takes_text=True)
    of, reply = messages(format="tool"), Answer("I look", calls).written()
    of.prompt(desk)
    assert of.parse(reply).is_valid
    parsed = of.parse(reply, truncated=True)
    assert (parsed.action, parsed.is_valid) == ("", False)
    of.record(desk, parsed.action, (), reply)
    why = "[Your answer was not valid: it was cut off at the longest length of a reply. Answer more briefly.]"
    assert of.prompt(desk).messages[1:] == (Message("assistant", "I look"), Message("user", f"{why}\n\nA desk."))


def test_an_answer_survives_writing_and_reading() -> None:
    answer = Answer('{"content": "x", "calls": []}\n\u65e5', (call("{'", "n", ""), call("")))
    assert read_answer(answer.written()) == answer


def test_a_text_context_has_no_token_ids() -> None:
    assert messages().prompt(seen("A hall.")).ids == ()
    with pytest.raises(ConfigError, match="makes text and no ids"):
        messages().render("go")


# -- reply forms -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "reply", "why"),
    [
        ("react", "Thought: x\nAction: go\nObservation: You won.", "it holds an observation"),
        ("code", "act('go')", "it holds no program"),
    ],
)
def test_the_error_of_a_malformed_reply_is_added_to_the_next_message_once(form: str, reply: str, why: str) -> None:
    of = messages(format=form, instruction="Play.")
    assert of.parse(reply) == Parsed("", is_valid=False, error=of.parse(reply).error)
    of.record(seen("text 0"), "", (), reply)
    (_, first), (_, said), (_, answer) = shown(of, "text 1")
    assert (first, said) == ("Play.\n\ntext 0", reply)
    assert answer.startswith(f"[Your answer was not valid: {why}")
    assert answer.endswith("]\n\ntext 1")
    of.record(seen("text 1"), "go", (), "Thought: x\nAction: go" if form == "react" else "```\ngo\n```")
    assert shown(of, "text 2")[2:] == [
        ("user", answer),
        ("assistant", of._talk.turns[1][1].content),
        ("user", "text 2"),
    ]


def test_the_published_formats_do_not_report_errors() -> None:
    assert played(messages(format="tagged", instruction=""), "nonsense")[-1] == ("user", "text 1")


def test_the_form_is_asked_for_by_its_file() -> None:
    (message,) = messages(format="react").prompt(seen("A hall.")).messages
    assert message.content.startswith("Answer each message with one thought and one action")
    assert message.content.endswith("\n\nA hall.")


# -- pictures ----------------------------------------------------------------------------------------------------------

LEFT_OUT = "\n\n(The picture of this turn is left out.)"


def pictured(number: int) -> Observation:
    return Observation(text=f"text {number}", anchor=number, image=b"png %d" % number)


def pictures(of: Messages, count: int, reply: str = "a") -> list[tuple[str, bytes | None]]:
    """Return the shown messages, without replies, of the given number of turns with pictures."""
    for number in range(count - 1):
        of.record(pictured(number), "go", (), reply)
    return [(m.content, m.image) for m in of.prompt(pictured(count - 1)).messages if m.role != "assistant"]


@pytest.mark.parametrize("images", [0, 1, 2, 3, 4])
def test_the_newest_pictures_are_shown_and_earlier_ones_are_marked_as_omitted(images: int) -> None:
    left_out = "" if images == 0 else LEFT_OUT  # without any, nothing speaks of them
    first, second, third = pictures(messages(instruction="Play.", images=images), 3)
    assert first == (("Play.\n\ntext 0", b"png 0") if images >= 3 else (f"Play.\n\ntext 0{left_out}", None))
    assert second == (("text 1", b"png 1") if images >= 2 else (f"text 1{left_out}", None))
    assert third == (("text 2", b"png 2") if images >= 1 else ("text 2", None))


def test_turns_without_a_picture_do_not_use_up_the_limit_of_pictures() -> None:
    of = messages(instruction="Play.")
    of.record(pictured(0), "", (), "a")
    assert of.prompt(seen("text 1")).messages[0] == Message("user", "Play.\n\ntext 0", image=b"png 0")


@pytest.mark.parametrize(
    ("memory", "shown"),
    [
        ({}, [("Play.\n\ntext 0" + LEFT_OUT, None), ("text 1", b"png 1"), ("text 2", b"png 2")]),
        (
            {"history": 1},
            [("Play.\n\ntext 0\n\n(1 turns are not shown.)\n\ntext 1", b"png 1"), ("text 2", b"png 2")],
        ),
        ({"memory": "markovian"}, [("Play.\n\ntext 0\n\ntext 2", b"png 2")]),
    ],
)
def test_a_picture_goes_with_its_turn(memory: dict[str, Any], shown: list[tuple[str, bytes | None]]) -> None:
    assert pictures(messages(instruction="Play.", images=2, **memory), 3) == shown


@pytest.mark.parametrize(("images", "left_out"), [(1, LEFT_OUT), (0, "")])
def test_a_summary_is_asked_for_in_text_alone(images: int, left_out: str) -> None:
    of = messages(instruction="Play.", memory="summary", summary_turns=1, history=0, images=images)
    ((asked, image),) = pictures(of, 2)
    assert asked.startswith(f"text 0{left_out}\n\nYou answered:\na\n\n")
    assert image is None
    of.note("so far")
    ((reported, image),) = pictures(of, 1)
    assert reported == "Play.\n\ntext 0\n\nYour summary of the 1 turns before:\nso far\n\ntext 0"
    assert image == (b"png 0" if images else None)


def test_a_picture_after_a_tool_message_is_a_user_message() -> None:
    of = messages(format="tool", instruction="Play.")
    both = Answer("", (call('{"action": "go"}', call_id="one"), call('{"action": "go"}', call_id="two"))).written()
    assert pictures(of, 3, both) == [
        ("Play.\n\ntext 0" + LEFT_OUT, None),
        ("text 1" + LEFT_OUT, None),
        ("Not carried out: one call is carried out at a turn, and another came first.", None),
        ("text 2", None),
        ("Not carried out: one call is carried out at a turn, and another came first.", None),
        ("The picture of this turn:", b"png 2"),
    ]
    last = of.prompt(pictured(2)).messages[-3:]
    assert [(m.role, [c.id for c in m.calls]) for m in last] == [("tool", ["one"]), ("tool", ["two"]), ("user", [])]


@pytest.mark.parametrize("context", ["chat", "transcript", "window"])
def test_contexts_that_make_ids_take_no_pictures(context: str) -> None:
    with pytest.raises(ConfigError, match="unknown key 'images'"):
        CONTEXTS.config(context, {"images": 1})


def test_the_number_of_shown_pictures_is_part_of_the_fingerprint() -> None:
    agents = [load_agent("openai:m", nest({"agent.context.messages.images": images})) for images in (0, 1, 1)]
    none, one, again = (fingerprint(agent, 0.4) for agent in agents)
    assert none != one == again


# -- memory ------------------------------------------------------------------------------------------------------------


def test_markovian_memory_shows_the_task_and_the_present_alone() -> None:
    of = messages(instruction="Play.", memory="markovian", remind="Your task is to: ")
    of.record(seen("A hall. Your task is to: find the key.\nGo on."), "a", (), "a")
    for number in range(1, 4):  # no text gives the number of turns
        assert shown(of, "A yard.") == [("user", "Play.\n\nYour task is to: find the key.\n\nA yard.")]
        of.record(seen(f"text {number}"), "a", (), "a")


def test_a_window_shows_the_task_alone_when_remind_names_the_start_of_the_task() -> None:
    of = messages(instruction="", history=0, remind="Task:")
    of.record(seen("A hall. Task: win."), "a", (), "a")
    assert shown(of, "x") == [("user", "Task: win.\n\n(1 turns are not shown.)\n\nx")]
    of = messages(history=0, remind="Goal:")
    of.record(seen("A hall. Task: win."), "a", (), "a")
    with pytest.raises(ConfigError, match="'Goal:' and a task after it are not in the episode's first text"):
        shown(of, "x")


def summarising(**settings: Any) -> Messages:
    return messages(instruction="Play.", memory="summary", **settings)


def test_a_summary_replaces_the_oldest_turns() -> None:
    of = summarising(summary_turns=3, history=1, system="Be quick.")
    assert [role for role, _ in played(of, "a", "b")] == ["system", "user", "assistant", "user", "assistant", "user"]
    of.record(seen("text 2"), "", (), "c")
    asked = of.prompt(seen("text 3"))
    assert asked.asks == "summary"
    assert asked.tools == ()
    system, ask = asked.messages
    assert system == Message("system", "Be quick.")
    reported = "text 0\n\nYou answered:\na\n\ntext 1\n\nYou answered:\nb\n\nAbove are the oldest turns of your work"
    assert ask.content.startswith(reported)
    of.note("  The key is red.\n")
    assert of.prompt(seen("text 3")).asks == "action"
    summary = "Your summary of the 2 turns before:\nThe key is red."
    assert shown(of, "text 3")[1:] == [
        ("user", f"Play.\n\ntext 0\n\n{summary}\n\ntext 2"),
        ("assistant", "c"),
        ("user", "text 3"),
    ]


def test_a_later_summary_includes_the_previous_one() -> None:
    of = summarising(summary_turns=2, history=0)
    for number in range(2):
        of.record(seen(f"text {number}"), "", (), "a")
    assert of.prompt(seen("text 2")).asks == "summary"
    of.note("one")
    for number in range(2, 4):
        assert of.prompt(seen(f"text {number}")).asks == "action"
        of.record(seen(f"text {number}"), "", (), "b")
    asked = of.prompt(seen("text 4"))
    assert asked.asks == "summary"
    assert asked.messages[0].content.startswith(
        "text 0\n\nYour summary of the 2 turns before:\none\n\ntext 2\n\nYou answered:\nb\n\ntext 3"
    )
    of.note("two")
    assert shown(of, "x") == [("user", "Play.\n\ntext 0\n\nYour summary of the 4 turns before:\ntwo\n\nx")]


def test_an_empty_summary_leaves_a_count() -> None:
    of = summarising(summary_turns=1, history=0)
    of.record(seen("text 0"), "", (), "a")
    of.prompt(seen("text 1"))
    of.note(" \n")
    assert shown(of, "text 1") == [("user", "Play.\n\ntext 0\n\n(1 turns are not shown.)\n\ntext 1")]


def test_a_budget_of_tokens_counts_the_prompt_at_three_characters_each() -> None:
    # "Play.\n\ntext 0" has 13 characters, the reply "a" 1, the last message 100 - 13 - 1 = 86: 100 in all
    for tokens, asks in ((33, "summary"), (34, "action")):
        of = summarising(summary_tokens=tokens, history=0)
        of.record(seen("text 0"), "", (), "a")
        assert of.prompt(seen("x" * 86)).asks == asks


def test_a_prompt_beyond_the_budget_with_one_turn_is_sent_unchanged() -> None:
    of = summarising(summary_tokens=1, history=1)
    assert of.prompt(seen("text 0")).asks == "action"
    of.record(seen("text 0"), "", (), "a")
    assert of.prompt(seen("text 1")).asks == "action"  # its only turn stays


def test_a_request_for_a_summary_shows_calls() -> None:
    of = summarising(summary_turns=1, history=0, format="tool")
    of.record(seen("text 0"), "go", (), Answer("Hm.", (call('{"action": "go"}'),)).written())
    asked = of.prompt(seen("text 1"))
    assert (asked.asks, asked.tools) == ("summary", ())
    assert 'text 0\n\nYou answered:\nHm.\nact {"action": "go"}\n\nAbove' in asked.messages[0].content


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory": "window"}, "needs a history"),
        ({"memory": "full", "history": 2}, "takes no history"),
        ({"memory": "markovian", "history": 2}, "takes no history"),
        ({"memory": "markovian", "stride": 2}, "stride needs a history"),
        ({"memory": "summary", "stride": 2}, "stride needs a history"),
        ({"memory": "summary", "summary_turns": 2}, "must be above the 2 turns"),
        ({"memory": "summary", "history": 8}, "must be above the 8 turns"),
        ({"summary_turns": 4}, "need memory = 'summary'"),
        ({"format": "raect"}, "expected one of code, plain, react, tagged, tool"),
        ({"system": "x", "system_file": "agent"}, "both set"),
        ({"instruction": "x", "instruction_file": "react"}, "both set"),
        ({"system_file": "agnet"}, "agent"),
        ({"memory": "summary", "summary_file": "nowhere.txt"}, "nowhere.txt"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(MessagesConfig, settings, "test")


@pytest.mark.parametrize(
    ("settings", "policy", "kept"),
    [
        ({}, "full", None),
        ({"history": 3}, "window", 3),
        ({"memory": "markovian"}, "markovian", 0),
        ({"memory": "summary"}, "summary", 2),
        ({"memory": "summary", "history": 0}, "summary", 0),
    ],
)
def test_memory_by_its_settings(settings: dict[str, Any], policy: str, kept: int | None) -> None:
    config = build(MessagesConfig, settings, "test")
    assert (config.policy, config.kept) == (policy, kept)
