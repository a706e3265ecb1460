"""The transcript: every prompt extends the one before, and its replies are read as they were written."""

from __future__ import annotations

import pytest

from cairn.agents.context.transcript import Transcript, TranscriptConfig
from cairn.agents.models.tokens import Encoder
from cairn.core.errors import ConfigError
from cairn.core.records import Observation
from tests.agents.models.test_tokens import word_tokenizer
from tests.agents.tiny import shared

ENCODER = shared().encoder


def transcript(remind: str | None = None) -> Transcript:
    return Transcript(TranscriptConfig(remind=remind), ENCODER)


def seen(text: str) -> Observation:
    return Observation(text=text, anchor=0)


def test_prompts_are_the_observation_and_the_mark() -> None:
    context = transcript()
    first = context.prompt(seen("A note says: red."))
    assert first.ids == (*ENCODER.encode("A note says: red."), ENCODER.act_id)
    assert not first.extends
    context.record(seen("A note says: red."), "take key", context.render("take key"))
    second = context.prompt(seen("You have the key."))
    assert second.ids == (*ENCODER.encode("You have the key."), ENCODER.act_id)
    assert second.extends


def test_a_reply_that_was_cut_is_closed_by_the_next_prompt() -> None:
    context = transcript()
    context.prompt(seen("A note says: red."))
    context.record(seen("A note says: red."), "take", ENCODER.encode("take"))
    closed = (*ENCODER.encode("Nothing happens."), ENCODER.act_id)
    for _ in range(2):  # it may be asked for again
        assert context.prompt(seen("Nothing happens.")).ids == (ENCODER.end_id, *closed)
    context.record(seen("Nothing happens."), "take key", context.render("take key"))
    assert context.prompt(seen("Nothing happens.")).ids == closed


def test_a_prompt_that_was_not_answered_is_still_the_first() -> None:
    context = transcript()
    context.prompt(seen("A note says: red."))
    assert not context.prompt(seen("A note says: red.")).extends


def test_the_task_is_repeated_before_every_reply_but_the_first() -> None:
    context = transcript(remind="A note says: ")
    text = "A hall.\nA note says: red.\nBe quick."
    assert context.prompt(seen(text)).ids == (*ENCODER.encode(text), ENCODER.act_id)
    for observation in ("You have the key.", "A note says: blue."):  # only the first text states the task
        context.record(seen(text), "take key", context.render("take key"))
        ids = (*ENCODER.encode(observation), *ENCODER.encode(" red."), ENCODER.act_id)
        assert context.prompt(seen(observation)).ids == ids


@pytest.mark.parametrize("text", ["A hall.", "A note says: ", "A note says: \nred."])
def test_a_first_text_without_its_task_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="remind"):
        transcript(remind="A note says: ").prompt(seen(text))


@pytest.mark.parametrize("action", ["open red", "take key", "say <|end|> \x00", "日本"])
def test_a_rendered_action_is_read_again(action: str) -> None:
    ids = transcript().render(action)
    assert ids[-1] == ENCODER.end_id
    assert ENCODER.end_id not in ids[:-1]
    parsed = transcript().parse(ENCODER.decode(ids[:-1]))
    assert (parsed.action, parsed.is_valid) == (action, True)


@pytest.mark.parametrize(
    ("reply", "action", "is_valid"),
    [(" open red \n", "open red", True), ("", "", False), (" \n", "", False), ("<|act|>go", "<|act|>go", True)],
)
def test_replies(reply: str, action: str, is_valid: bool) -> None:
    parsed = transcript().parse(reply)
    assert (parsed.action, parsed.is_valid) == (action, is_valid)


def test_a_tokenizer_without_the_mark_gets_a_written_one() -> None:
    encoder = Encoder(word_tokenizer(eos_token="[end]", extra=(">",)))
    context = Transcript(TranscriptConfig(), encoder)
    assert context.prompt(seen("open red")).ids == (2, 3, 4)
