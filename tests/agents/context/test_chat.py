"""The conversation: messages, replies, and prompts that restart with replies as they were sampled."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from cairn.agents.context.base import Prompt
from cairn.agents.context.chat import Chat, ChatConfig
from cairn.agents.models.tokens import Encoder
from cairn.core.config import build
from cairn.core.errors import ConfigError
from cairn.core.records import Observation
from tests.agents.models.test_chat import MOVING, encoder_of, shipped
from tests.agents.tiny import shared

CHATML = shipped("chatml")
PLAIN = shared().encoder
ASKED = "Answer each message with one action and nothing else."


def chat(encoder: Encoder = CHATML, **settings: Any) -> Chat:
    return Chat(ChatConfig.model_validate(settings), encoder)


def seen(text: str, *admissible: str) -> Observation:
    return Observation(text=text, anchor=0, admissible=admissible or None)


def said(encoder: Encoder, text: str) -> tuple[int, ...]:
    """Return a reply that is closed, in ids that encoding its text as a whole does not give."""
    return (*(i for letter in text for i in encoder.encode(letter)), encoder.end_id)


def play(context: Chat, encoder: Encoder, replies: Sequence[tuple[int, ...]]) -> tuple[list[Prompt], list[str]]:
    """Show text 0, text 1, ... and return the prompts and, turn by turn, the text of all that stands before a reply."""
    prompts, texts, ids = [], [], list[int]()
    for number, reply in enumerate((*replies, ())):
        prompts.append(context.prompt(seen(f"text {number}")))
        ids = [*(ids if prompts[-1].extends else []), *prompts[-1].ids]
        texts.append(encoder.decode(ids))
        ids += reply
        context.record(seen(f"text {number}"), "", reply)
    return prompts, texts


def test_the_first_message_is_the_instruction_and_the_observation() -> None:
    ids = chat(system="Be quick.", instruction="Play.").prompt(seen("A hall.", "go")).ids
    assert CHATML.decode(ids) == (
        "<|im_start|>system\nBe quick.<|im_end|>\n<|im_start|>user\nPlay.\n\nA hall.<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize(
    ("settings", "first"),
    [
        ({}, f"{ASKED}\n\nA hall."),
        ({"instruction": ""}, "A hall."),
        ({"format": "tagged", "instruction": "Play."}, "Play.\n\nA hall."),
        ({"list_actions": True}, f"{ASKED}\n\nA hall.\n\nPossible actions:\ngo\nlook"),
    ],
)
def test_the_first_message_depends_on_the_settings(settings: dict[str, Any], first: str) -> None:
    ids = chat(**settings).prompt(seen("A hall.", "go", "look")).ids
    assert CHATML.decode(ids) == f"<|im_start|>user\n{first}<|im_end|>\n<|im_start|>assistant\n"


def test_the_tagged_format_is_asked_for() -> None:
    text = CHATML.decode(chat(format="tagged").prompt(seen("A hall.")).ids)
    assert all(tag in text for tag in ("<think>", "</think>", "<action>", "</action>"))


def test_actions_are_also_listed_at_later_turns_with_actions() -> None:
    context = chat(list_actions=True)
    context.record(seen("A hall.", "go"), "go", said(CHATML, "go"))
    for actions, text in ((("wait",), "A door.\n\nPossible actions:\nwait"), ((), "A door.")):
        ids = context.prompt(seen("A door.", *actions)).ids
        assert CHATML.decode(ids) == f"\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


def test_without_history_every_prompt_extends_and_nothing_is_lost() -> None:
    replies = [said(CHATML, f"reply {n}") for n in range(6)]
    prompts, texts = play(chat(instruction=""), CHATML, replies)
    assert [prompt.extends for prompt in prompts] == [False, *[True] * 6]
    turns = "".join(
        f"text {n}<|im_end|>\n<|im_start|>assistant\nreply {n}<|im_end|>\n<|im_start|>user\n" for n in range(6)
    )
    assert texts[-1] == f"<|im_start|>user\n{turns}text 6<|im_end|>\n<|im_start|>assistant\n"


def shown(text: str) -> list[int]:
    """Return the numbers of the turns whose replies are in a prompt."""
    return [n for n in range(10) if f"reply {n}" in text]


@pytest.mark.parametrize(
    ("history", "stride", "expected"),
    [
        # the turns shown at turns 0 to 6
        (0, 1, [[], [], [], [], [], [], []]),
        (0, 3, [[], [0], [0, 1], [], [3], [3, 4], []]),
        (1, 1, [[], [0], [1], [2], [3], [4], [5]]),
        (2, 1, [[], [0], [0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]),
        (2, 2, [[], [0], [0, 1], [0, 1, 2], [2, 3], [2, 3, 4], [4, 5]]),
        (1, 4, [[], [0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [4], [4, 5]]),
        (9, 1, [list(range(n)) for n in range(7)]),
    ],
)
@pytest.mark.parametrize("encoder", [CHATML, PLAIN], ids=["template", "plain"])
def test_a_prompt_restarts_when_it_would_show_too_many_turns(
    history: int, stride: int, expected: list[list[int]], encoder: Encoder
) -> None:
    replies = [said(encoder, f"reply {n}") for n in range(6)]
    prompts, texts = play(chat(encoder, history=history, stride=stride), encoder, replies)
    assert [shown(text) for text in texts] == expected
    grows = [len(now) == len(before) + 1 for before, now in itertools.pairwise(expected)]
    assert [prompt.extends for prompt in prompts] == [False, *grows]
    for number, (turns, text) in enumerate(zip(expected, texts, strict=True)):
        first = turns[0] if turns else number
        assert text.count("text 0") == 1
        assert (f"({first} turns are not shown.)" in text) == (first > 0)
        assert [n for n in range(1, 10) if f"text {n}" in text] == [n for n in (*turns, number) if n > 0]


def test_text_of_a_restarted_prompt() -> None:
    replies = [said(CHATML, f"reply {n}") for n in range(3)]
    _, texts = play(chat(instruction="Play.", system="Be quick.", history=1), CHATML, replies)
    assert texts[-1] == (
        "<|im_start|>system\nBe quick.<|im_end|>\n<|im_start|>user\nPlay.\n\ntext 0\n\n(2 turns are not shown.)\n\n"
        "text 2<|im_end|>\n<|im_start|>assistant\nreply 2<|im_end|>\n"
        "<|im_start|>user\ntext 3<|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.parametrize("encoder", [CHATML, PLAIN], ids=["template", "plain"])
def test_replies_in_a_restarted_prompt_keep_their_sampled_ids(encoder: Encoder) -> None:
    replies = [said(encoder, "open amber") for _ in range(4)]
    assert encoder.encode(encoder.decode(replies[0][:-1])) != replies[0][:-1]  # encoding again gives others
    prompts, _ = play(chat(encoder, history=2), encoder, replies)
    ids = prompts[-1].ids
    assert not prompts[-1].extends
    assert sum(ids[i : i + len(replies[0])] == replies[0] for i in range(len(ids))) == 2


@pytest.mark.parametrize("encoder", [CHATML, PLAIN], ids=["template", "plain"])
@pytest.mark.parametrize("history", [None, 2])
def test_a_reply_that_was_cut_is_closed_by_the_prompt(encoder: Encoder, history: int | None) -> None:
    closed = [said(encoder, f"reply {n}") for n in range(4)]
    cut = [reply[: len(reply) - n % 2] for n, reply in enumerate(closed)]  # every second one
    prompts, texts = play(chat(encoder, history=history), encoder, closed)
    after_cut, texts_after_cut = play(chat(encoder, history=history), encoder, cut)
    assert texts_after_cut == texts
    for number, (now, other) in enumerate(zip(prompts, after_cut, strict=True)):
        truncated = now.extends and number in (2, 4)
        assert other.ids == ((encoder.end_id, *now.ids) if truncated else now.ids)


def test_a_template_that_appends_only_without_a_system_message_is_refused_with_one() -> None:
    encoder = encoder_of(MOVING)
    play(chat(encoder), encoder, [said(encoder, "go")])
    with pytest.raises(ConfigError, match="at turn 2 it renders"):
        play(chat(encoder, system="Be quick."), encoder, [said(encoder, "go")])


def test_without_a_template_texts_are_concatenated() -> None:
    _, texts = play(chat(PLAIN, system="Be quick.", instruction="Play."), PLAIN, [said(PLAIN, "take key")])
    assert texts == [
        "Be quick.\n\nPlay.\n\ntext 0<|act|>",
        "Be quick.\n\nPlay.\n\ntext 0<|act|>take key<|end|>text 1<|act|>",
    ]


def test_a_prompt_that_was_not_answered_is_asked_for_again() -> None:
    context = chat(history=1)
    for number in range(4):
        assert context.prompt(seen(f"text {number}")) == context.prompt(seen(f"text {number}"))
        context.record(seen(f"text {number}"), "", said(CHATML, "go"))


@pytest.mark.parametrize("format_", ["plain", "tagged"])
@pytest.mark.parametrize("action", ["open red", "say <|im_end|> \x00", "<act>日本"])
def test_a_rendered_action_is_read_again(format_: str, action: str) -> None:
    context = chat(format=format_)
    ids = context.render(action)
    assert ids[-1] == CHATML.end_id
    assert CHATML.end_id not in ids[:-1]
    parsed = context.parse(CHATML.decode(ids[:-1]))
    assert (parsed.action, parsed.is_valid) == (action, format_ == "plain" or "日" not in action)


@pytest.mark.parametrize(
    ("reply", "action", "is_valid"),
    [
        ("<think>A key.</think> <action> Take key </action>", "take key", True),
        ("<action>take key</action>", "take key", False),
        (f"I would rather {'really ' * 9}take key", " really really really take key", False),
    ],
)
def test_tagged_replies(reply: str, action: str, is_valid: bool) -> None:
    parsed = chat(format="tagged").parse(reply)
    assert (parsed.action, parsed.is_valid) == (action, is_valid)


@pytest.mark.parametrize("wrong", [{"format": "xml"}, {"history": -1}, {"stride": 0}, {"stride": 2}, {"windows": 2}])
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        build(ChatConfig, wrong, "agent.context")


# -- strict forms and memory -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [0, 1])
def test_the_error_of_a_malformed_reply_is_shown_once(cut: int) -> None:
    """The error is in the next message and in no later one, for a closed reply and for a cut one."""
    context = chat(format="react", instruction="Play.")
    context.prompt(seen("A hall."))
    reply = said(CHATML, "go")
    context.record(seen("A hall."), "", reply[: len(reply) - cut])
    text = CHATML.decode(context.prompt(seen("A door.")).ids)
    assert "[Your answer was not valid: 0 lines begin with 'Action:', and exactly one has to.]\n\nA door." in text
    context.record(seen("A door."), "go", said(CHATML, "Thought: x\nAction: go"))
    assert "not valid" not in CHATML.decode(context.prompt(seen("A yard.")).ids)


def test_a_reply_in_the_form_is_rendered_and_read() -> None:
    context = chat(format="react")
    ids = context.render("go")
    assert CHATML.decode(ids[:-1]) == "Thought:\nAction: go"
    assert context.parse("Thought: x\nAction: go").action == "go"
    assert chat(format="code").parse("```python\ngo\n```").action == "go"


def test_markovian_prompts_show_the_task_and_the_present_alone() -> None:
    context = chat(instruction="", memory="markovian", remind="note says:")
    frame = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n".format
    assert CHATML.decode(context.prompt(seen("A note says: red.\nGo.")).ids) == frame("A note says: red.\nGo.")
    context.record(seen("A note says: red.\nGo."), "go", said(CHATML, "go"))
    for text in ("A door.", "A yard.", "A door."):
        prompt = context.prompt(seen(text))
        assert not prompt.extends
        assert CHATML.decode(prompt.ids) == frame(f"note says: red.\n\n{text}")
        context.record(seen(text), "go", said(CHATML, "go"))


def test_summaries_are_for_conversations_in_text() -> None:
    with pytest.raises(ConfigError, match="choose the context 'messages'"):
        build(ChatConfig, {"memory": "summary"}, "test")
