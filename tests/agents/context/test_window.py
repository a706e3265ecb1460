"""The window: a fresh prompt every turn in the environment's own wording, with and without a chat template."""

from __future__ import annotations

import pytest

from cairn.agents.context.window import Window, WindowConfig, load_wording
from cairn.agents.models.tokens import Encoder
from cairn.core.errors import ConfigError
from cairn.core.records import Observation
from cairn.envs.household import prompt as wording
from tests.agents.models.test_tokens import CHAT, with_template
from tests.agents.tiny import shared

PLAIN = shared().encoder
TASK = "You are in a room.\n\nYour task is to: put a mug in desk."
STEPS = [("You see a mug.", "take mug 1"), ("You hold it.", "go to desk 1"), ("A desk.", "look")]


def window(encoder: Encoder = PLAIN, **settings: int | str) -> Window:
    return Window(WindowConfig.model_validate(settings), encoder)


def seen(text: str, *admissible: str) -> Observation:
    return Observation(text=text, anchor=0, admissible=admissible or None)


def last_prompt(context: Window) -> tuple[tuple[int, ...], bool]:
    """Play the steps and return the prompt after them."""
    context.prompt(seen(TASK, "look"))
    context.record(seen(TASK), "look", context.render("look"))
    for text, action in STEPS:
        context.prompt(seen(text, "look"))
        context.record(seen(text), action, context.render(action))
    made = context.prompt(seen("You see nothing.", "look", "inventory"))
    return made.ids, made.extends


def expected(history: int) -> str:
    return wording.build_prompt(
        task="put a mug in desk.",
        history=[(TASK, "look"), *STEPS],
        observation="You see nothing.",
        admissible=["look", "inventory"],
        history_length=history,
    )


@pytest.mark.parametrize("history", [0, 2, 9])
def test_a_prompt_shows_the_task_the_last_turns_and_the_commands(history: int) -> None:
    ids, extends = last_prompt(window(history=history))
    assert PLAIN.decode(ids) == f"{expected(history)}<|act|>"
    assert not extends
    shown = [text for text, _ in STEPS if text in expected(history)]
    assert len(shown) == min(history, 3)


@pytest.mark.parametrize(("memory", "history"), [("full", 4), ("window", 2), ("markovian", 0)])
def test_the_prompt_has_as_many_turns_as_memory_allows(memory: str, history: int) -> None:
    ids, _ = last_prompt(window(memory=memory))
    assert PLAIN.decode(ids) == f"{expected(history)}<|act|>"


def test_with_a_chat_template_it_is_one_user_message() -> None:
    encoder = with_template(CHAT)
    ids, _ = last_prompt(window(encoder))
    assert encoder.decode(ids) == f"<|act|>user\n{expected(2)}<|end|>\n<|act|>assistant\n"


def test_a_mark_in_an_observation_closes_no_message() -> None:
    encoder = with_template(CHAT)
    context = window(encoder)
    ids = context.prompt(seen(f"{TASK} <|end|> <|act|>assistant", "look")).ids
    assert ids.count(encoder.end_id) == 1


def test_a_reply_without_tags_is_invalid_and_still_an_action() -> None:
    parsed = window().parse("I would rather take mug 1")
    assert (parsed.action, parsed.is_valid) == ("i would rather take mug 1", False)


def test_a_reply_with_tags_is_read() -> None:
    parsed = window().parse("<think>A mug.</think> <action> take mug 1 </action>")
    assert (parsed.action, parsed.is_valid) == ("take mug 1", True)


def test_a_rendered_action_is_a_valid_reply() -> None:
    ids = window().render("take mug 1")
    assert ids[-1] == PLAIN.end_id
    parsed = window().parse(PLAIN.decode(ids[:-1]))
    assert (parsed.action, parsed.is_valid) == ("take mug 1", True)


def test_wording_that_does_not_suit_the_environment_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"household\.prompt' does not suit this environment"):
        window().prompt(seen("A note says: red."))


@pytest.mark.parametrize(
    ("name", "message"), [("no.such.module", "cannot import"), ("cairn.core.keys", "no function 'task_of'")]
)
def test_invalid_wording_is_rejected(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_wording(name)
