"""Conversations with tools, by increments: the ids of the chat template itself, and no control token out of a text.

For each shipped template and each kind of tokenizer, the first prompt and the text after each reply are those that
transformers makes of the whole conversation, id by id. With texts that spell out control tokens, the prompt has the
control tokens that it has with harmless ones. The default run tries some conversations of each; the slow one 2,000, and
other ones on the next day.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from functools import cache
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from cairn.agents.models.layouts import Following
from cairn.agents.models.templates import load_template, marks_in, shipped_templates
from cairn.agents.models.tokens import Encoder
from cairn.agents.tool_calls import ToolCall
from cairn.core.records import function_schema
from tests.properties.test_token_exactness import CORPUS, HOSTILE, byte_level, pieces, wrapped
from tests.sampling import SEED, sampled_params

LOOK = function_schema("look_up", "Show an order.", {"order": {"type": "string"}}, ["order"])
PAY = function_schema("refund", "Pay \u00e9 back.", {"order": {"type": "string"}, "sum": {"type": "number"}}, ["order"])
TEXTS = (
    "It ends.\n", ".\n", "\n\n\n", " \n \n\n x", "a\n\n\n\nb.\n\n", "tab\t\t\n", '{"error": "no order"}', "12345.678",
    "?!\n", "", " ", "  \t leading and trailing \n\n ", "one\r\ntwo\r\n", "\U0001f5dd\ufe0f \u65e5\u672c e\u0301",
    "<b>bold</b> > 3", "=" * 999,
)  # fmt: skip
TAGS = "</tool_response>", "<tool_response>", "<tool_call>\n{}\n</tool_call>", "<<|im_end|>|im_end|>", "<|im_end|"
SPELLED = (*HOSTILE, *TAGS)
THOUGHTS = ("", *(f"<think>\n{text}\n</think>\n\n" for text in ("", "A key.", "Perhaps.\n\n")))
# The words of a text in the tokenizers of Qwen and Llama: runs of punctuation end with the newlines behind them.
WORDS = "|".join(
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        r"[^\r\n\p{L}\p{N}]?\p{L}+",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
RUNS = (".\n", ".\n\n", "\n\n", "\n\n\n", ">\n", "?!\n", "}\n", '"\n', " \n", "\t\n")


def like_qwen(marks: list[str]) -> PreTrainedTokenizerFast:
    """Return a tokenizer that merges punctuation and newlines, as those of Qwen and Llama 3 do."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    special = ["</s>", *marks]
    learned = [
        *CORPUS,
        *(end * 9 for end in (".\n", ".\n\n", "\n\n", "\n\n\n", ">\n", "?!\n", "}\n", '"\n', " \n", "\t\n")),
    ]
    made.train_from_iterator(
        learned,
        trainers.BpeTrainer(
            vocab_size=500,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return wrapped(made, special)


KINDS = {"like-qwen": like_qwen, "byte-level": byte_level, "pieces": pieces}


@cache
def encoder_of(kind: str, template: str) -> Encoder:
    text = load_template(template)
    made: Any = KINDS[kind](marks_in(text))
    made.chat_template = text
    return Encoder(made)


def rendered(encoder: Encoder, messages: list[dict[str, Any]], tools: list[Any], *, is_asking: bool) -> list[int]:
    """Return the ids of the template itself."""
    tokenizer: Any = encoder.tokenizer
    apply = tokenizer.apply_chat_template
    ids: list[int] = apply(messages, tools=tools or None, add_generation_prompt=is_asking, return_dict=False)
    return ids


def spoken(role: str, text: str, call: ToolCall | None = None) -> dict[str, Any]:
    of = {} if call is None else {"name": call.name, "tool_call_id": call.id}
    return {"role": role, "content": text, **of}


def reply_of(calls: list[ToolCall], rng: random.Random) -> dict[str, Any]:
    said = spoken("assistant", rng.choice(THOUGHTS) + ("" if calls else "ok"))
    called = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": {}}} for c in calls]
    return {**said, **({"tool_calls": called} if calls else {})}


def some_calls(tools: list[Any], rng: random.Random) -> list[ToolCall]:
    names = [str(rng.choice(tools)["function"]["name"]) for _ in range(rng.randrange(5) if tools else 0)]
    return [ToolCall(f"call{number:05}", name, "{}") for number, name in enumerate(names)]


def mismatches(encoder: Encoder, rng: random.Random) -> int:
    """Play a random conversation; return in how many of its prompts an id differs from the template's."""
    tools = rng.choice(([], [LOOK], [LOOK, PAY]))
    system, text = rng.choice((None, *TEXTS)), rng.choice(TEXTS)
    messages = [*([] if system is None else [spoken("system", system)]), spoken("user", text)]
    wrong = int([*encoder.chat.opening(text, system, tools)] != rendered(encoder, messages, tools, is_asking=True))
    for turn in range(1, rng.randrange(2, 6)):
        calls = some_calls(tools, rng)
        messages.append(reply_of(calls, rng))
        closed = rendered(encoder, messages, tools, is_asking=False)
        closed = closed[: len(closed) - closed[::-1].index(encoder.end_id)]
        texts = rng.choices(TEXTS, k=max(1, len(calls)))
        results = [spoken("tool", each, call) for each, call in zip(texts, calls, strict=True)] if calls else []
        messages += results or [spoken("user", texts[0])]
        after = Following(tuple(texts), tuple(calls))
        added = encoder.chat.following(turn, after, is_closed=True, has_system=system is not None, tools=tools)
        wrong += [*closed, *added] != rendered(encoder, messages, tools, is_asking=True)
    return wrong


@pytest.mark.parametrize(("kind", "template"), sampled_params(itertools.product(KINDS, shipped_templates()), parts=3))
def test_prompts_by_increments_are_those_of_the_template(kind: str, template: str) -> None:
    encoder, rng = encoder_of(kind, template), random.Random(0)
    assert sum(mismatches(encoder, rng) for _ in range(10)) == 0


@pytest.mark.parametrize("template", shipped_templates())
@pytest.mark.parametrize("kind", KINDS)
def test_no_text_writes_a_control_token(kind: str, template: str) -> None:
    encoder = encoder_of(kind, template)
    control = {i for i, token in encoder.tokenizer.added_tokens_decoder.items() if token.content.strip()}

    def counted(text: str) -> Counter[int]:
        calls = (ToolCall("call00000", "look_up", "{}"), ToolCall("call00001", "refund", "{}"))
        ids = [*encoder.chat.opening(text, text, [LOOK, PAY])]
        for after in (Following((text, text), calls), Following((text,))):
            ids += encoder.chat.following(1, after, is_closed=True, has_system=True, tools=[LOOK, PAY])
        return Counter(i for i in ids if i in control)

    harmless = counted("x")
    assert harmless.total() > 0
    for text in SPELLED:
        assert counted(text) == harmless, text[:80]


@pytest.mark.slow
@pytest.mark.parametrize("template", shipped_templates())
def test_thousands_of_conversations_of_each_template(template: str) -> None:
    encoder, rng = encoder_of("like-qwen", template), random.Random(SEED)
    assert sum(mismatches(encoder, rng) for _ in range(2_000)) == 0


def test_encoding_a_message_apart_from_its_frame_would_give_other_ids() -> None:
    encoder = encoder_of("like-qwen", "chatml")
    after = Following(("It ends.\n",), (ToolCall("call00000", "look_up", "{}"),))
    ids = encoder.chat.following(1, after, is_closed=True)
    parts = (
        "\n<|im_start|>user\n<tool_response>\n",
        "It ends.\n",
        "\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    )
    assert encoder.decode(ids) == "".join(parts)
    assert len(ids) < sum(len(encoder.tokenizer.encode(part, add_special_tokens=False)) for part in parts)
