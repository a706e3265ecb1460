"""Text to ids and back: nothing is lost, and text of an environment is never encoded as a special token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from cairn.agents.models.tokens import ACT, END, PAD, Encoder, load_tokenizer, train_tokenizer
from cairn.core.errors import ConfigError, ModelFailure
from tests.agents.tiny import TEXTS, tokenizer

MARKS = (ACT, END, PAD)
CHAT = (
    "{% for m in messages %}<|act|>{{ m['role'] }}\n{{ m['content'] }}<|end|>\n{% endfor %}{{ '<|act|>assistant\n' }}"
)


@pytest.fixture
def encoder() -> Encoder:
    return Encoder(tokenizer())


def with_template(template: str) -> Encoder:
    made: Any = train_tokenizer(TEXTS, 400)
    made.chat_template = template
    return Encoder(made)


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.characters(codec="utf-8"), max_size=60))
def test_every_text_is_decoded_unchanged(text: str) -> None:
    encoder = Encoder(tokenizer())
    assert encoder.decode(encoder.encode(text)) == text


@pytest.mark.parametrize(
    "text", ["", "\x00\x01\x1b[2J\r\n\t\x7f", "  two  spaces  ", "e\u0301 \u202eabc", "日本 🗝️", *TEXTS]
)
def test_difficult_texts_are_decoded_unchanged(encoder: Encoder, text: str) -> None:
    assert encoder.decode(encoder.encode(text)) == text


def test_a_lone_surrogate_becomes_a_question_mark(encoder: Encoder) -> None:
    assert encoder.decode(encoder.encode("a\ud800b")) == "a?b"


def test_a_megabyte_of_text_is_decoded_unchanged(encoder: Encoder) -> None:
    text = "You see a key, and a door. \n" * 37_500
    assert len(text) > 1_000_000
    assert encoder.decode(encoder.encode(text)) == text


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("form", ["{}", "You see {} here.", "{0}{0}", "\n{}\n"])
def test_a_mark_in_an_observation_is_text(encoder: Encoder, mark: str, form: str) -> None:
    special = {encoder.act_id, encoder.end_id, encoder.tokenizer.pad_token_id}
    ids = encoder.encode(form.format(mark))
    assert not special & set(ids)
    assert encoder.decode(ids) == form.format(mark)


def test_the_marks_themselves_are_single_ids(encoder: Encoder) -> None:
    assert encoder.act_id == encoder.tokenizer.convert_tokens_to_ids(ACT)
    assert encoder.end_id == encoder.tokenizer.convert_tokens_to_ids(END)
    assert encoder.decode([1, 2]) == ACT + END


def test_cached_ids_equal_a_fresh_encoding(encoder: Encoder) -> None:
    assert encoder.encode("open red") == encoder.encode("open red") == Encoder(tokenizer()).encode("open red")


def test_words_of_the_environment_are_short(encoder: Encoder) -> None:
    assert len(encoder.encode("open amber")) == 2


def word_tokenizer(extra: Sequence[str] = (), **marks: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer of whole words: 2 open, 3 red, then those of `extra`."""
    known = {word: i for i, word in enumerate(["[unk]", "[end]", "open", "red", *extra])}
    words = Tokenizer(models.WordLevel(known, unk_token="[unk]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    build: Any = PreTrainedTokenizerFast  # Any: transformers has no types
    made: PreTrainedTokenizerFast = build(tokenizer_object=words, unk_token="[unk]", **marks)
    return made


def test_an_unknown_word_is_a_failure_and_never_an_unknown_token() -> None:
    encoder = Encoder(word_tokenizer(eos_token="[end]"))
    assert encoder.encode("open red") == (2, 3)
    with pytest.raises(ModelFailure, match="cannot encode 'open blue'"):
        encoder.encode("open blue")


def test_a_tokenizer_without_an_end_is_refused() -> None:
    with pytest.raises(ModelFailure, match="no end-of-sequence token"):
        Encoder(word_tokenizer())


def test_a_prompt_without_a_template_is_the_text_and_the_mark(encoder: Encoder) -> None:
    assert encoder.chat.opening("You see.") == (*encoder.encode("You see."), encoder.act_id)


def test_a_prompt_with_a_template_is_one_user_message() -> None:
    encoder = with_template(CHAT)
    ids = encoder.chat.opening("You see.")
    assert encoder.decode(ids) == "<|act|>user\nYou see.<|end|>\n<|act|>assistant\n"
    assert [i for i in ids if i in (encoder.act_id, encoder.end_id)] == [
        encoder.act_id,
        encoder.end_id,
        encoder.act_id,
    ]


@pytest.mark.parametrize("text", ["user", "", "\n", "<|end|>", "u", "assistant"])
def test_a_message_may_repeat_text_of_the_template(text: str) -> None:
    encoder = with_template(CHAT)
    ids = encoder.chat.opening(text)
    assert encoder.decode(ids) == f"<|act|>user\n{text}<|end|>\n<|act|>assistant\n"
    assert ids.count(encoder.end_id) == 1


def test_a_template_that_changes_the_message_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not show a message once and as it is"):
        with_template(CHAT.replace("m['content']", "m['content'] | upper"))


def test_a_saved_tokenizer_encodes_alike(tmp_path: Any) -> None:
    tokenizer().save_pretrained(tmp_path)
    loaded = Encoder(load_tokenizer(tmp_path))
    for text in (*TEXTS, "<|end|> \x00 日本", "   "):
        assert loaded.encode(text) == Encoder(tokenizer()).encode(text)
    assert (loaded.act_id, loaded.end_id) == (Encoder(tokenizer()).act_id, Encoder(tokenizer()).end_id)
