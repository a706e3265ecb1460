"""The published runs' prompt and reply format: layout, validity, hostile replies."""

from __future__ import annotations

import pytest

from cairn.envs.household.prompt import TaggedReply, build_prompt, parse_reply, task_of
from tests.envs.household import tiny

_GOOD = "<think>the desk first</think><action>go to desk 1</action>"


def test_the_first_prompt_has_no_history() -> None:
    prompt = build_prompt(
        task="put a mug in desk.", history=[], observation="You see.", admissible=["go to desk 1", "help", "look"]
    )
    assert prompt == (
        "You are an agent that acts in a household by text commands.\nYour task is to: put a mug in desk.\n\n"
        "This is step 1. You now observe: You see.\n\n"
        "The commands that you can use now are:\n['go to desk 1'\n 'look']\n\n"
        "First reason step by step about the situation, inside <think> </think> tags. "
        "Then choose one of the commands above and give it inside <action> </action> tags."
    )


def test_later_prompts_show_the_last_two_turns_with_their_numbers() -> None:
    history = [("A", "a"), ("B", "b"), ("C", "c")]
    prompt = build_prompt(task="t.", history=history, observation="D", admissible=[])
    assert "[Observation 2: 'B', Action 2: 'b']\n[Observation 3: 'C', Action 3: 'c']" in prompt
    assert "You have taken 3 step(s)" in prompt
    assert "This is step 4. You now observe: D" in prompt
    assert "'A'" not in prompt


def test_history_can_be_left_out() -> None:
    prompt = build_prompt(task="t.", history=[("A", "a")], observation="D", admissible=[], history_length=0)
    assert "Observation" not in prompt


def test_the_task_is_read_from_the_intro() -> None:
    assert task_of(tiny.house().intro()) == "do it."
    with pytest.raises(ValueError, match="Expected a text with 'Your task is to: '"):
        task_of("You see nothing.")


@pytest.mark.parametrize(
    ("reply", "action", "is_valid"),
    [
        (_GOOD, "go to desk 1", True),
        (_GOOD.replace("desk", "DESK"), "go to desk 1", True),
        (_GOOD + "<action>look</action>", "go to desk 1", True),  # the first counts
        ("</action>" + _GOOD, "go to desk 1", True),
        ("<think>x</think><action> \n look \n</action>", "look", True),
        ("<think>x</think><action></action>", "", True),  # the form is right; the world will say that nothing happens
        ("<action>look</action>", "look", False),  # no thought
        ("<think>x<action>look</action>", "look", False),
        ("<THINK>x</THINK><action>look</action>", "look", False),  # the public code looks for lower case here
        ("<think>\u684c\u5b50</think><action>look</action>", "look", False),  # Chinese
        ("<think>caf\u00e9</think><action>look</action>", "look", True),
        ("I would go to desk 1 and then look around", "to desk 1 and then look around", False),
        ("<think>x</think><action>look", "<think>x</think><action>look", False),
        ("<think>x</think>look</action>", "<think>x</think>look</action>", False),
        ("", "", False),
    ],
)
def test_replies(reply: str, action: str, is_valid: bool) -> None:
    assert parse_reply(reply) == TaggedReply(action, is_valid=is_valid)


@pytest.mark.parametrize(
    "reply", ["<action>" * 130_000, "x" * (1 << 20), "\x00\x1b" * 1000, "\ud800<action>\udfff</action>"]
)
def test_hostile_replies_are_outcomes(reply: str) -> None:
    parsed = parse_reply(reply)
    assert not parsed.is_valid
    assert len(parsed.action) <= 30
