"""Chat templates by increments: the public frames, replies as sampled, and no template that cannot be followed."""

from __future__ import annotations

import contextlib
import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from cairn.agents.models.layouts import Following
from cairn.agents.models.templates import load_template, marks_in, shipped_templates
from cairn.agents.models.tokens import END, Encoder, load_tokenizer, train_tokenizer
from cairn.core.errors import ConfigError, ModelFailure, UnknownNameError
from tests.agents.tiny import TEXTS

# ChatML's frames without tools.
CHATML = """{%- for message in messages -%}
  {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\\n' -}}
{%- endif -%}
"""
OPENS = Following(("It opens.",))
THOUGHT = "<think>\nA key.\n</think>\n\ntake key"
QWEN_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
# The public frames: user "You see.", reply "take key", user "It opens.", and the prompt for the second reply.
FRAMES = {
    "chatml": "<|im_start|>user\nYou see.<|im_end|>\n<|im_start|>assistant\ntake key<|im_end|>\n"
    "<|im_start|>user\nIt opens.<|im_end|>\n<|im_start|>assistant\n",
    "qwen2.5": f"<|im_start|>system\n{QWEN_SYSTEM}<|im_end|>\n"
    "<|im_start|>user\nYou see.<|im_end|>\n<|im_start|>assistant\ntake key<|im_end|>\n"
    "<|im_start|>user\nIt opens.<|im_end|>\n<|im_start|>assistant\n",
    "qwen3": "<|im_start|>user\nYou see.<|im_end|>\n<|im_start|>assistant\ntake key<|im_end|>\n"
    "<|im_start|>user\nIt opens.<|im_end|>\n<|im_start|>assistant\n",
    "llama-3": "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nYou see.<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\ntake key<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nIt opens.<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    "gemma": "<bos><start_of_turn>user\nYou see.<end_of_turn>\n<start_of_turn>model\ntake key<end_of_turn>\n"
    "<start_of_turn>user\nIt opens.<end_of_turn>\n<start_of_turn>model\n",
    "qwen3.5": "<|im_start|>user\nYou see.<|im_end|>\n"
    "<|im_start|>assistant\n<think>\n\n</think>\n\ntake key<|im_end|>\n"
    "<|im_start|>user\nIt opens.<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    "mistral": "<s>[INST]You see.[/INST]take key</s>[INST]It opens.[/INST]",
}
# The first tokens when there is a system message "Be quick.".
WITH_SYSTEM = {
    **dict.fromkeys(
        ("chatml", "qwen2.5", "qwen3", "qwen3.5"),
        "<|im_start|>system\nBe quick.<|im_end|>\n<|im_start|>user\nYou see.<|im_end|>",
    ),
    "mistral": "<s>[SYSTEM_PROMPT]Be quick.[/SYSTEM_PROMPT][INST]You see.[/INST]",
    "llama-3": "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe quick.<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nYou see.<|eot_id|>",
    "gemma": "<bos><start_of_turn>user\nBe quick.\n\nYou see.<end_of_turn>\n",
}
ENDS = {"llama-3": "<|eot_id|>", "gemma": "<end_of_turn>", "mistral": "</s>"}
# Frames of a family that puts blanks around each message.
INST = (
    "{{ '<s>' }}{% for m in messages %}{{ '[INST] ' + m.content + ' [/INST]' if m.role == 'user' else "
    "' ' + m.content + ' </s>' }}{% endfor %}"
)


def encoder_of(template: str) -> Encoder:
    made: Any = train_tokenizer(TEXTS, 400, marks=marks_in(template))
    made.chat_template = template
    return Encoder(made)


@cache
def shipped(name: str) -> Encoder:
    return encoder_of(load_template(name))


def conversation(encoder: Encoder, reply: str = "take key", *, system: str | None = None, turns: int = 1) -> list[int]:
    """Return the ids of as many turns, each answered by `reply`, and of the prompt after them."""
    ids = [*encoder.chat.opening("You see.", system)]
    for turn in range(1, turns + 1):
        ids += (*encoder.encode(reply), encoder.end_id)
        ids += encoder.chat.following(turn, OPENS, is_closed=True, has_system=system is not None)
    return ids


def messages(reply: str = "take key", *, system: str | None = None, turns: int = 1) -> list[dict[str, str]]:
    said = ["You see.", *["It opens."] * turns]
    out = [] if system is None else [{"role": "system", "content": system}]
    for text in said[:-1]:
        out += [{"role": "user", "content": text}, {"role": "assistant", "content": reply}]
    return [*out, {"role": "user", "content": said[-1]}]


def test_every_shipped_template_has_its_frames_here() -> None:
    assert set(FRAMES) == set(WITH_SYSTEM) == set(shipped_templates())


@pytest.mark.parametrize("name", FRAMES)
def test_frames_are_the_public_ones(name: str) -> None:
    encoder = shipped(name)
    assert encoder.decode(conversation(encoder)) == FRAMES[name]
    assert encoder.decode(conversation(encoder, system="Be quick.")).startswith(WITH_SYSTEM[name])


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("system", [None, "Be quick."])
@pytest.mark.parametrize("turns", [0, 1, 2, 7])
def test_increments_add_up_to_the_whole_conversation(name: str, system: str | None, turns: int) -> None:
    encoder = shipped(name)
    whole = encoder.tokenizer.apply_chat_template(
        messages(system=system, turns=turns), add_generation_prompt=True, tokenize=False
    )
    assert encoder.decode(conversation(encoder, system=system, turns=turns)) == whole


@pytest.mark.parametrize("name", FRAMES)
def test_marks_of_the_template_are_single_ids(name: str) -> None:
    encoder = shipped(name)
    ids = conversation(encoder)
    assert encoder.decode([encoder.end_id]) == ENDS.get(name, "<|im_end|>")
    ends = FRAMES[name].count(ENDS.get(name, "<|im_end|>"))
    assert ids.count(encoder.end_id) == ends >= 1
    assert {encoder.decode([i]) for i in ids if i in encoder.special_ids} == {
        mark for mark in marks_in(load_template(name)) if mark in FRAMES[name]
    }


# Qwen3's own frames: thoughts of replies before the last message of the user are left out.
DROPS_THOUGHTS = CHATML.replace(
    "message.content +",
    "(message.content if loop.last else message.content.split('</think>')[-1].lstrip('\\n')) +",
)


@pytest.mark.parametrize("name", FRAMES)
def test_thoughts_stay(name: str) -> None:
    encoder = shipped(name)
    whole = encoder.tokenizer.apply_chat_template(messages(THOUGHT), add_generation_prompt=True, tokenize=False)
    assert encoder.decode(conversation(encoder, THOUGHT)) == whole == FRAMES[name].replace("take key", THOUGHT)


def test_a_template_that_drops_thoughts_is_refused_and_one_that_keeps_them_is_named() -> None:
    assert DROPS_THOUGHTS != CHATML
    with pytest.raises(ConfigError, match=r"does not only append: at turn 3 it renders .*or qwen3"):
        encoder_of(DROPS_THOUGHTS).chat.check(has_system=False)


@pytest.mark.parametrize("name", FRAMES)
def test_the_next_message_closes_a_cut_reply(name: str) -> None:
    encoder = shipped(name)
    closed = encoder.chat.following(3, OPENS, is_closed=True)
    assert encoder.chat.following(3, OPENS, is_closed=False) == (encoder.end_id, *closed)


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize(
    "text", ["<|im_end|>", "<|eot_id|>x<end_of_turn>", "<<user>>", "<<reply>>", "user", "", "{{ 1 }}"]
)
def test_message_text_is_encoded_without_special_tokens(name: str, text: str) -> None:
    encoder = shipped(name)
    plain, said = encoder.chat.opening("x", "x"), encoder.chat.opening(text, text)
    later, said_later = (
        encoder.chat.following(1, Following((t,)), is_closed=True, has_system=True) for t in ("x", text)
    )
    for benign, ids in ((plain, said), (later, said_later)):
        marks = [i for i in ids if i in encoder.special_ids]
        assert marks == [i for i in benign if i in encoder.special_ids]
    assert encoder.decode(said_later) == encoder.decode(later).replace("x", text)


@pytest.mark.parametrize(("name", "strips"), [("llama-3", True), ("gemma", True), ("chatml", False), ("qwen3", False)])
def test_blanks_around_a_message_go_where_the_template_strips_them(name: str, strips: bool) -> None:
    chat = shipped(name).chat
    for said in (chat.opening, lambda text: chat.following(1, Following((text,)), is_closed=True)):
        assert (said(" \n It opens. \n") == said("It opens.")) == strips
        assert said(" \n ") != said("It opens.")


@pytest.mark.parametrize("change", ["replace('key', 'lock')", "lstrip('\\n')", "replace('>', '&gt;', 1)"])
def test_a_message_is_shown_as_the_template_shows_it(change: str) -> None:
    # Placeholders survive: they hold no key, no line break, and the change leaves text in front of a second ">"
    # unchanged.
    text = "\nA <b>key</b>."
    changed = CHATML.replace(
        "message.content +", f"(message.content.{change} if 'key' in message.content else message.content) +"
    )
    encoder = encoder_of(changed)
    said = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": text},
    ]
    whole = encoder.tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False)
    assert f"user\n{text}<" not in whole
    ids = [*encoder.chat.opening(text), *encoder.encode("ok"), encoder.end_id]
    assert encoder.decode([*ids, *encoder.chat.following(1, Following((text,)), is_closed=True)]) == whole


@pytest.mark.parametrize(
    "written",
    ["message.content | upper", "message.content | e", "message.content.lstrip()", "'text'", "message.content * 2"],
)
def test_a_template_that_changes_every_message_is_refused(written: str) -> None:
    with pytest.raises(ConfigError, match="does not show a message once and as it is"):
        encoder_of(CHATML.replace("message.content +", f"{written} +"))


# Templates whose appended text changes, the first turn that shows the change, and the text there.
UNSTABLE = {
    "numbers turns": (
        CHATML.replace("message.content +", "((loop.index + 1) // 2 if loop.index % 2 else '') ~ message.content +"),
        3,
        "'3\\t<<user",
    ),
    "counts messages": (CHATML.replace("{%- for", "{{- messages | length -}}{%- for", 1), 2, "'2<|im_start|>"),
    "marks the last message": (
        CHATML.replace("message.content +", "message.content + ('!' if loop.last and loop.index % 2 else '') +"),
        2,
        "'<|im_end|>",
    ),
    "forgets": (CHATML.replace("in messages -%}", "in messages[-8:] -%}"), 5, "'assistant"),
    "opens a thought": (
        CHATML.replace("'<|im_start|>assistant\\n'", "'<|im_start|>assistant\\n<think>'"),
        2,
        "'<reply>>",
    ),
    "asks in other words": (CHATML.replace("'<|im_start|>assistant\\n'", "'<|im_start|>model\\n'"), 2, "'assistant"),
    "numbers late turns": (
        CHATML.replace("message.content +", "(loop.index if loop.index > 30 else '') ~ message.content +"),
        16,
        "'31\\t<<user",
    ),
}


@pytest.mark.parametrize("case", UNSTABLE)
def test_a_template_that_does_not_append_is_refused_by_name_and_turn(case: str) -> None:
    template, turn, says = UNSTABLE[case]
    encoder = encoder_of(template)
    assert encoder.chat.opening("You see.")  # a single prompt can be written all the same
    for number in range(1, turn - 1):
        with contextlib.suppress(ConfigError):  # the check looks ahead
            encoder.chat.following(number, OPENS, is_closed=True)
    with pytest.raises(ConfigError) as refused:
        encoder.chat.following(turn - 1, OPENS, is_closed=True)
    message = str(refused.value)
    assert template[:20] in message
    assert f"does not only append: at turn {turn} it renders {says}" in message
    assert "set model.chat_template" in message


# The template puts the system message in front of the last user message.
MOVING = CHATML.replace("in messages -%}", "in messages if message.role != 'system' -%}").replace(
    "message.content +",
    "(messages[0].content if loop.last and messages[0].role == 'system' else '') + message.content +",
)


def test_a_system_message_that_moves_is_refused_only_where_there_is_one() -> None:
    encoder = encoder_of(MOVING)
    assert len(conversation(encoder, turns=3)) > len(conversation(encoder, turns=2))
    with pytest.raises(ConfigError, match="at turn 2 it renders"):
        conversation(encoder, system="Be quick.")


def test_a_shipped_template_is_called_by_its_name_even_after_loading(tmp_path: Path) -> None:
    shipped("gemma").tokenizer.save_pretrained(tmp_path)
    loaded: Any = Encoder(load_tokenizer(tmp_path)).chat
    assert loaded.name == "The chat template 'gemma'"


def test_a_template_with_the_date_works_on_the_next_day(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = encoder_of(CHATML.replace("{%- for", "{{- strftime_now('%d %b') -}}{%- for", 1))
    conversation(encoder, turns=3)

    class Tomorrow(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Tomorrow:
            return cls(1999, 12, 31)

    monkeypatch.setattr("transformers.utils.chat_template_utils.datetime", Tomorrow)
    assert encoder.chat.following(9, OPENS, is_closed=True)  # in the midst of an episode
    assert encoder.decode(conversation(encoder, turns=3)).startswith("31 Dec<|im_start|>")


class Counting:
    """Counts the messages that a tokenizer renders."""

    def __init__(self, tokenizer: Any, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        apply = tokenizer.apply_chat_template

        def counted(said: list[Any], **settings: Any) -> Any:
            self.count += len(said)
            return apply(said, **settings)

        patch.setattr(tokenizer, "apply_chat_template", counted)


def test_the_rendered_text_of_a_turn_does_not_grow_with_its_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = encoder_of(CHATML)
    rendered = Counting(encoder.tokenizer, monkeypatch)
    conversation(encoder, turns=500)
    # Checks at 8, 16, ..., 512 turns render 4 x 2 x 1024 messages in all; those of the first turns some more.
    assert rendered.count < 4 * 2 * 1024 + 200
    rendered.count = 0
    for turn in range(1, 501):
        encoder.chat.following(turn, Following((f"It opens {turn} times.",)), is_closed=True)
    assert rendered.count == 500 * 5  # user and reply; user, reply and user
    rendered.count = 0
    conversation(encoder, turns=500)
    assert rendered.count == 1  # the first message


def test_the_end_of_replies_is_the_templates_and_not_the_tokenizers() -> None:
    encoder = shipped("llama-3")
    assert encoder.tokenizer.eos_token == END
    assert encoder.decode([encoder.end_id]) == "<|eot_id|>"
    assert encoder.is_closed([7, encoder.end_id])
    assert not encoder.is_closed([encoder.end_id, encoder.tokenizer.eos_token_id])
    assert not encoder.is_closed([])


def test_blanks_that_a_template_puts_around_a_reply_are_part_of_the_reply() -> None:
    made: Any = train_tokenizer(TEXTS, 400, marks=["<s>", "</s>", "[INST]", "[/INST]"])
    made.chat_template = INST
    encoder = Encoder(made)
    assert encoder.decode([encoder.end_id]) == "</s>"
    said = "<s>[INST] You see. [/INST] take key</s>[INST] It opens. [/INST]"
    assert encoder.decode(conversation(encoder, " take key")) == said


@pytest.mark.parametrize("closing", ["", "!", "!<|im_end|>", "\n\n"])
def test_replies_that_are_closed_by_no_special_token_are_refused(closing: str) -> None:
    template = "{% for m in messages %}{{ m.role + ': ' + m.content + 'END' }}{% endfor %}".replace("END", closing)
    with pytest.raises(
        ConfigError, match=r"closes a reply with .*set model.chat_template to that of the model's family"
    ):
        encoder_of(template)


def test_a_template_of_another_family_is_refused() -> None:
    made: Any = train_tokenizer(TEXTS, 400, marks=["<|im_start|>", "<|im_end|>"])
    made.chat_template = load_template("gemma")
    with pytest.raises(ConfigError, match="The chat template 'gemma' closes a reply with '<end_of_turn>"):
        Encoder(made)


@pytest.mark.parametrize("template", ["{{ raise_exception('no users') }}", "{% for %}", "{{ messages[9].content }}"])
def test_a_template_that_cannot_be_rendered_is_refused(template: str) -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        encoder_of(template)


def test_templates_are_found_by_name_and_by_path(tmp_path: Path) -> None:
    (tmp_path / "own.jinja").write_text(CHATML)
    assert load_template(str(tmp_path / "own.jinja")) == CHATML
    with pytest.raises(UnknownNameError, match=r"Unknown chat template 'chatlm'. Did you mean 'chatml'\?"):
        load_template("chatlm")


def test_marks_that_the_tokenizer_does_not_count_as_special_are_protected_too() -> None:
    made: Any = train_tokenizer(TEXTS, 400)
    made.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in ("<|im_start|>", "<|im_end|>")])
    made.chat_template = CHATML
    encoder = Encoder(made)
    marks = {encoder.tokenizer.convert_tokens_to_ids(mark) for mark in ("<|im_start|>", "<|im_end|>")}
    assert encoder.end_id in marks
    for text in ("<|im_end|>", "a <|im_end|><|im_end|> b <|im_start|>user\n"):
        assert not marks & set(encoder.encode(text))
        assert encoder.decode(encoder.encode(text)) == text


def test_marks_that_a_tokenizer_holds_as_words_are_broken_up() -> None:
    pieces = ["</s>", "<unk>", "\u2581", *(chr(i) for i in range(33, 127)), "end"]
    unigram = Tokenizer(models.Unigram([(piece, -1.0) for piece in pieces], unk_id=1, byte_fallback=False))
    unigram.pre_tokenizer, unigram.decoder = pre_tokenizers.Metaspace(prepend_scheme="never"), decoders.Metaspace()
    made: Any = PreTrainedTokenizerFast(tokenizer_object=unigram, eos_token="</s>", unk_token="<unk>")
    assert made.encode("</s>", add_special_tokens=False, split_special_tokens=True) == [0]  # the hole
    encoder = Encoder(made)
    assert encoder.decode(encoder.encode("a </s></s> end")) == "a </s></s> end"
    assert 0 not in encoder.encode("a </s></s> end")
    with pytest.raises(ModelFailure, match="cannot encode"):
        encoder.encode("\u65e5")
