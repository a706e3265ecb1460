"""Environments for TRL: tools as methods with the environment's schemas, episodes, and training by TRL itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import Qwen2Config, Qwen2ForCausalLM
from transformers.utils.chat_template_utils import get_json_schema

import cairn
from cairn.agents.models.templates import load_template, shipped_templates
from cairn.core.errors import ConfigError
from cairn.core.records import Schema, function_schema
from cairn.envs.registry import make
from cairn.integrations.trl import EpisodeOver, environment_factory, prepare_tokenizer, task_rows
from tests.agents.desk import Desk
from tests.agents.models.test_chat import CHATML, encoder_of

PARCELS = "examples.parcels:parcels"


def played(env: Any, task: str) -> tuple[str, str]:
    """Return the texts that the right calls lead to."""
    there = make(PARCELS)
    there.reset(seed=0, options={"task": task})
    texts = []
    for _ in range(2):
        call = json.loads(there.oracle())
        there.step(json.dumps(call))
        texts.append(getattr(env, call["name"])(**call["arguments"]))
    return texts[0], texts[1]


def test_an_episode() -> None:
    env: Any = environment_factory(PARCELS)()
    first = env.reset(task="7", prompt="a column of the row")
    assert first.startswith("Send the parcel to ")
    listed, last = played(env, "7")
    assert listed.startswith("The room is ")
    assert (last, env.get_reward()) == ("Done.", 1.0)
    with pytest.raises(EpisodeOver, match="the episode is over"):
        env.find(name="Ada", floor=1)
    assert env.reset(task="7") == first
    assert env.get_reward() == 0.0
    assert env.find(name="Nobody", floor=1) == "There is no such guest."
    with pytest.raises(TypeError, match="unexpected keyword argument 'who'"):
        env.find(name="Ada", floor=1, who="x")


def total(first: int, second: int) -> int:
    return first + second


totals = cairn.tools_env(
    [total], name="totals", tasks=[{"question": "2 + 3?", "answer": 5}], verify=cairn.scorers.number()
)


def test_a_final_answer_is_a_call_of_answer() -> None:
    env: Any = environment_factory(f"{__name__}:totals")()
    (row,) = task_rows(f"{__name__}:totals")
    assert env.reset(task=row["task"]) == "2 + 3?"
    assert env.total(first=2, second=3) == "5"
    assert (env.answer(action="5"), env.get_reward()) == ("The end.", 1.0)


def test_a_row_without_a_task_is_refused() -> None:
    env = environment_factory(PARCELS)()
    with pytest.raises(ConfigError, match="needs a column 'task'"):
        env.reset(prompt="x")
    assert task_rows(PARCELS, "Help.")[3] == {"prompt": [{"role": "user", "content": "Help."}], "task": "3"}


def test_the_schemas_that_trl_makes_of_the_methods_have_the_tools_names_and_arguments() -> None:
    env = environment_factory(PARCELS)()
    tools = make(PARCELS).tools()
    assert len(tools) == 2
    for tool in tools:
        made = get_json_schema(getattr(env, tool["function"]["name"]))["function"]
        assert (made["name"], made["description"]) == (tool["function"]["name"], tool["function"]["description"])
        assert made["parameters"]["required"] == tool["function"]["parameters"]["required"]
        found = {key: each["type"] for key, each in made["parameters"]["properties"].items()}
        assert found == {key: each["type"] for key, each in tool["function"]["parameters"]["properties"].items()}


SORTS: Schema = function_schema(
    "sort",
    "Sort\nthings.",
    {
        "limit": {"type": "integer", "description": "At most."},
        "by": {"type": "string", "enum": ["name", "size"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "is_down": {"type": "boolean"},
    },
    ["by", "tags"],
)


class Sorts(Desk):
    def tools(self) -> tuple[Schema, ...]:
        return (SORTS,)


class Reserved(Desk):
    def tools(self) -> tuple[Schema, ...]:
        return (function_schema("reset", "Again.", {}, []),)


def test_kinds_of_arguments() -> None:
    env: Any = environment_factory(f"{__name__}:Sorts")()
    made = get_json_schema(env.sort)["function"]
    assert made["description"] == "Sort things."
    assert made["parameters"]["required"] == ["by", "tags"]
    properties = made["parameters"]["properties"]
    assert {key: each["type"] for key, each in properties.items()} == {
        "limit": "integer", "by": "string", "tags": "array", "is_down": "boolean",
    }  # fmt: skip
    assert (properties["by"]["enum"], properties["tags"]["items"]) == (["name", "size"], {"type": "string"})
    assert properties["limit"] == {"type": "integer", "nullable": True, "description": "At most."}


def test_a_tool_with_a_name_of_trls_own_is_refused() -> None:
    with pytest.raises(ConfigError, match="has a tool 'reset', a name that TRL keeps for itself"):
        environment_factory(f"{__name__}:Reserved")


def test_an_environment_without_tools_has_one_for_actions() -> None:
    env: Any = environment_factory("examples.doors:Doors")()
    env.reset(task="amber-0")
    assert get_json_schema(env.act)["function"]["parameters"]["required"] == ["action"]
    assert env.act(action="take key") == "You have the key."
    assert env.act("open amber") == "The door opens."
    assert env.get_reward() == 1.0


@pytest.mark.parametrize("name", shipped_templates())
def test_a_tokenizer_can_read_the_calls_of_its_template(name: str) -> None:
    tokenizer: Any = prepare_tokenizer(encoder_of(load_template(name)).tokenizer)
    call = {"type": "function", "function": {"name": "find", "arguments": {"name": "Ada"}}}
    said = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    prompt = tokenizer.apply_chat_template(said[:1], add_generation_prompt=True, tokenize=False)
    whole = tokenizer.apply_chat_template(said, tokenize=False)
    (found,) = tokenizer.parse_response(whole.removeprefix(prompt), prefix=prompt)["tool_calls"]
    arguments = found["function"].get("arguments", found["function"].get("parameters"))
    assert (found["function"]["name"], arguments) == ("find", {"name": "Ada"})


def test_a_template_that_trl_cannot_extend_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not show tools"):
        prepare_tokenizer(encoder_of(CHATML).tokenizer)
    tokenizer: Any = encoder_of(CHATML).tokenizer
    assert prepare_tokenizer(tokenizer, "chatml").chat_template == load_template("chatml")


@pytest.mark.rotating(4)
def test_trl_trains_on_an_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trl", reason="needs TRL: pip install -e '.[trl]'")
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    tokenizer: Any = prepare_tokenizer(encoder_of(load_template("chatml")).tokenizer)
    settings = Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, eos_token_id=tokenizer.convert_tokens_to_ids("<|im_end|>"),
        pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    seen: list[str] = []
    factory = environment_factory(PARCELS)
    reset = factory.reset

    def watched(self: Any, **row: Any) -> str:  # Any: columns
        seen.append(row["task"])
        return reset(self, **row)

    monkeypatch.setattr(factory, "reset", watched)
    trainer = GRPOTrainer(
        model=Qwen2ForCausalLM(settings),
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(task_rows(PARCELS)[:8]),
        environment_factory=factory,
        args=GRPOConfig(
            output_dir=str(tmp_path), max_steps=5, per_device_train_batch_size=4, num_generations=4,
            max_completion_length=24, report_to="none", use_cpu=True, logging_steps=1, save_strategy="no",
        ),
    )  # fmt: skip
    trainer.train()
    assert trainer.state.global_step == 5
    assert len(seen) == 20
    assert all(len(set(seen[at : at + 4])) == 1 for at in range(0, 20, 4))  # one task a group
