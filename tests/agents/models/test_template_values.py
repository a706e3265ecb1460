"""Values of a chat template's variables, and prompts that open a thought."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cairn.agents.agent import load_agent
from cairn.agents.context.chat import Chat, ChatConfig
from cairn.agents.models.policy import ModelConfig, load_policy, load_pretrained
from cairn.agents.models.templates import OWN_TEMPLATE, TemplateChoice, load_template, marks_in, title
from cairn.agents.models.tokens import Encoder, train_tokenizer
from cairn.core.config import build
from cairn.core.errors import ConfigError
from cairn.core.records import Observation, Schema, function_schema
from tests.agents.tiny import TEXTS

LOOK = function_schema("look_up", "Show an order.", {"order": {"type": "string"}}, ["order"])
CALL = '{"name": "look_up", "arguments": {"order": "A1"}}'
IN_TAGS = "<tool_call>\n<function=look_up>\n<parameter=order>\nA1\n</parameter>\n</function>\n</tool_call>"
QWEN = load_template("qwen3.5")
THINKING = TemplateChoice(text=QWEN, values={"enable_thinking": True})


def encoder_with(choice: TemplateChoice) -> Encoder:
    made: Any = train_tokenizer([*TEXTS, CALL, json.dumps(LOOK)], 400, marks=marks_in(QWEN))
    made.chat_template = choice.applied(None)
    return Encoder(made)


THINKS = encoder_with(THINKING)


def seen(text: str, *tools: Schema) -> Observation:
    return Observation(text=text, anchor=0, tools=tools)


def chat(**settings: Any) -> Chat:
    return Chat(ChatConfig.model_validate({"instruction": "", **settings}), THINKS)


def said(text: str) -> tuple[int, ...]:
    """Return a reply as a model samples it: the mark that ends its thought is one token."""
    return (*THINKS.tokenizer.encode(text, add_special_tokens=False), THINKS.end_id)


@pytest.mark.parametrize(("thinks", "ends"), [(True, "<think>\n"), (False, "<think>\n\n</think>\n\n")])
def test_a_value_changes_the_prompt(thinks: bool, ends: str) -> None:
    encoder = encoder_with(TemplateChoice(text=QWEN, values={"enable_thinking": thinks}))
    assert encoder.decode(encoder.chat.opening("You see.")).endswith(f"<|im_start|>assistant\n{ends}")
    assert encoder.chat.opened == ("<think>\n" if thinks else "")


def test_values_are_texts_and_numbers_as_they_are_written() -> None:
    odd = 'a "quote" \\ {{ x }} {%- end -%} \n \U0001f5dd'
    template = "{{ word }}{{ number + 1 }}{{ flag is true }}{% for m in messages %}{{ m.content }}</s>{% endfor %}"
    made: Any = train_tokenizer(TEXTS, 400, marks=["</s>"])
    made.chat_template = TemplateChoice(text=template, values={"word": odd, "number": 41, "flag": True}).applied(None)
    assert made.apply_chat_template([{"role": "user", "content": "x"}], tokenize=False) == f"{odd}42Truex</s>"


def test_values_are_saved_with_a_policy_and_replaced_by_others(tmp_path: Path) -> None:
    model = ModelConfig(preset="qwen3-nano", chat_template="qwen3.5", chat_template_values={"enable_thinking": True})
    load_policy(model, lambda: (TEXTS, []), seed=0).save(tmp_path)
    assert load_pretrained(str(tmp_path)).encoder.chat.opened == "<think>\n"
    without = TemplateChoice(values={"enable_thinking": False})
    again = load_pretrained(str(tmp_path), template=without).encoder
    assert again.chat.opened == ""
    assert again.tokenizer.chat_template.count("set enable_thinking") == 1
    assert title(again.tokenizer.chat_template, "x") == "The chat template 'qwen3.5'"
    agent = load_agent(str(tmp_path), {"model": {"chat_template_values": {"enable_thinking": False}}})
    assert agent.policy is not None
    assert agent.policy.encoder.chat.opened == ""
    assert "chat_template" in agent.prompts  # a part of its prompt


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        (TemplateChoice(values={"enable_thinking": True}), "there is no chat template; set model.chat_template"),
        (TemplateChoice(text=QWEN, values={"enable_thoughts": True}), "has no variable 'enable_thoughts'"),
    ],
)
def test_a_value_that_changes_nothing_is_refused(choice: TemplateChoice, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        choice.applied(None)


def test_values_for_a_fresh_model_without_a_template_are_refused_where_settings_are_read() -> None:
    with pytest.raises(ConfigError, match=r"no chat template of its own\. Set model\.chat_template"):
        build(ModelConfig, {"chat_template_values": {"enable_thinking": True}}, "model")
    build(ModelConfig, {"path": "somewhere", "chat_template_values": {"enable_thinking": True}}, "model")


@pytest.mark.parametrize(("name", "value"), [("a-b", True), ("x %}{{ y", 1), ("x", [1]), ("x", None)])
def test_odd_names_and_values_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=r"model\.chat_template_values: "):
        TemplateChoice(values={name: value})


def test_without_values_a_tokenizer_keeps_its_template() -> None:
    assert OWN_TEMPLATE.applied("{{ messages }}") == "{{ messages }}"
    assert OWN_TEMPLATE.applied(None) is None


def test_a_thought_that_the_prompt_opens_is_not_part_of_the_action() -> None:
    context = chat()
    assert THINKS.decode(context.prompt(seen("You see.")).ids).endswith("<think>\n")
    assert context.parse("A key.\n</think>\n\ntake key").action == "take key"
    assert context.parse("take key").error.startswith("its thought is not closed")
    assert not context.parse("take key").is_valid


def test_calls_within_a_thought_are_ignored() -> None:
    context = chat(tools=True)
    context.prompt(seen("A desk.", LOOK))
    assert context.parse(f"Perhaps {IN_TAGS}.\n</think>\n\n{IN_TAGS}").action == CALL
    assert context.parse(f"Perhaps {IN_TAGS}.\n</think>\n\n").error.startswith("it calls no tool")
    assert context.parse(IN_TAGS).error.startswith("its thought is not closed")


@pytest.mark.parametrize("tools", [(), (LOOK,)])
def test_a_demonstration_has_an_empty_thought(tools: tuple[Schema, ...]) -> None:
    context = chat(tools=bool(tools))
    context.prompt(seen("You see.", *tools))
    action = CALL if tools else "take key"
    ids = context.render(action)
    assert THINKS.decode(ids) == f"\n</think>\n\n{IN_TAGS if tools else action}<|im_end|>"
    assert context.parse(THINKS.decode(ids[:-1])).action == action
    assert THINKS.tokenizer.convert_tokens_to_ids("</think>") in ids


def test_prompts_behind_opened_thoughts_are_those_of_the_template() -> None:
    context, text = chat(tools=True), ""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "text 0"}]
    for turn in range(5):
        observation = seen(f"text {turn}", LOOK)
        text += THINKS.decode(context.prompt(observation).ids)
        assert text == THINKS.tokenizer.apply_chat_template(
            messages, tools=[LOOK], add_generation_prompt=True, tokenize=False
        )
        reply = f"I look {turn} times.\n</think>\n\n{IN_TAGS}"
        ids = said(reply)
        context.record(observation, CALL, ids)
        text += THINKS.decode(ids)
        call = {"id": "call00000", "type": "function", "function": json.loads(CALL)}
        messages.append({"role": "assistant", "content": reply.removesuffix(IN_TAGS), "tool_calls": [call]})
        messages.append({"role": "tool", "content": f"text {turn + 1}"})
