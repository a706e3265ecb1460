"""Policies: fresh ones by seed, saved ones unchanged after loading, and rejected ones."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, MistralConfig, T5Config

from cairn.agents.models.packed_attention import Ragged, hidden_states, logits
from cairn.agents.models.policy import ModelConfig, Policy, load_policy, load_pretrained
from cairn.agents.models.templates import load_template, shipped_templates
from cairn.core.config import build
from cairn.core.errors import ConfigError, UnknownNameError
from tests.agents.tiny import TEXTS, policy, shared, sharpened, tokenizer

IDS = torch.arange(3, 40)


def computed(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return logits(model, hidden_states(model, IDS, Ragged.of([len(IDS)], torch.device("cpu"))))


def test_equal_seeds_give_equal_weights_and_others_do_not() -> None:
    one, same, other = (torch.cat([p.flatten() for p in policy(seed).model.parameters()]) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_a_saved_policy_is_the_same_for_cairn_and_for_transformers(tmp_path: Path) -> None:
    shared().save(tmp_path)
    again = load_pretrained(str(tmp_path))
    assert torch.equal(computed(again.model), computed(shared().model))
    plain = AutoModelForCausalLM.from_pretrained(tmp_path)
    with torch.no_grad():
        torch.testing.assert_close(plain(IDS[None]).logits[0], computed(shared().model), rtol=0, atol=1e-4)
    assert AutoTokenizer.from_pretrained(tmp_path).decode([1, 2]) == "<|act|><|end|>"


def test_a_saved_policy_does_not_name_cairns_attention(tmp_path: Path) -> None:
    shared().save(tmp_path)
    assert "cairn" not in (tmp_path / "config.json").read_text()


def test_bfloat16_is_carried_through() -> None:
    made = load_policy(ModelConfig(preset="qwen3-nano", vocab_size=400, dtype="bfloat16"), lambda: (TEXTS, ()), 0)
    assert {p.dtype for p in made.model.parameters()} == {torch.bfloat16}
    assert computed(made.model).dtype == torch.float32


def test_a_bfloat16_policy_is_the_same_once_saved_and_loaded(tmp_path: Path) -> None:
    """Rounded frequencies of positions would make it another policy, and a resumed run another run."""
    made = load_policy(ModelConfig(preset="qwen3-nano", vocab_size=400, dtype="bfloat16"), lambda: (TEXTS, ()), 0)
    sharpened(made).save(tmp_path)
    assert torch.equal(computed(load_pretrained(str(tmp_path), "bfloat16").model), computed(made.model))


@pytest.mark.parametrize("dtype", ["float16", "int8", "", 32])
def test_other_kinds_of_numbers_are_refused(dtype: object) -> None:
    with pytest.raises(ConfigError, match="dtype"):
        build(ModelConfig, {"dtype": dtype}, "model")


def test_an_unknown_size_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.preset: expected one of .*qwen3-nano.*, got 'qwen3-huge'"):
        load_policy(ModelConfig(preset="qwen3-huge"), lambda: (TEXTS, ()), 0)


@pytest.mark.parametrize("path", ["./no/such/folder", "~/no/such/folder", "/no/such/folder"])
def test_a_folder_that_is_not_there_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match=r"no model at .*no/such/folder' \(expected a folder with config.json"):
        load_pretrained(path)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no model at"):
        load_pretrained(str(tmp_path))


def test_a_hub_name_without_a_network_is_refused_at_once() -> None:
    began = time.monotonic()
    with pytest.raises(ConfigError, match="cannot load 'no-such-people/no-such-model'"):
        load_pretrained("no-such-people/no-such-model")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("torn", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_damaged_model_is_refused(torn: str, tmp_path: Path) -> None:
    shared().save(tmp_path)
    whole = (tmp_path / torn).read_bytes()
    (tmp_path / torn).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ConfigError, match="cannot load"):
        load_pretrained(str(tmp_path))


@pytest.mark.parametrize(
    "settings",
    [
        MistralConfig(hidden_size=32, num_attention_heads=2, num_hidden_layers=1, vocab_size=99, sliding_window=8),
        T5Config(d_model=32, num_layers=1, num_heads=2, vocab_size=99),
    ],
    ids=["sliding window", "encoder-decoder"],
)
def test_attention_that_is_not_supported_is_refused(settings: Any, tmp_path: Path) -> None:
    settings.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="only full causal attention is supported"):
        load_pretrained(str(tmp_path))


@pytest.mark.parametrize("name", ["final_logit_softcapping", "logits_scaling"])
def test_logits_that_are_changed_afterwards_are_refused(name: str, tmp_path: Path) -> None:
    shared().save(tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {name: 30.0}))
    with pytest.raises(ConfigError, match=f"{name}.*not supported"):
        load_pretrained(str(tmp_path))


def test_layers_with_sliding_windows_are_refused(tmp_path: Path) -> None:
    shared().save(tmp_path)
    file = tmp_path / "config.json"
    stored = json.loads(file.read_text())
    file.write_text(json.dumps(stored | {"layer_types": ["full_attention", "sliding_attention"]}))
    with pytest.raises(ConfigError, match="sliding_attention"):
        load_pretrained(str(tmp_path))


def test_a_tokenizer_larger_than_the_embeddings_is_refused(tmp_path: Path) -> None:
    made = policy(0)
    made.encoder.tokenizer.add_tokens(["<new>"])
    made.save(tmp_path)
    known, rows = len(made.encoder.tokenizer), made.model.config.vocab_size
    with pytest.raises(ConfigError, match=rf"has {known} tokens and its model embeds {rows}"):
        load_pretrained(str(tmp_path))


def test_fresh_attention_tends_to_copy_the_attended_values() -> None:
    for layer in policy(0).model.model.layers:
        values, output = layer.self_attn.v_proj.weight.detach(), layer.self_attn.o_proj.weight.detach()
        both = torch.stack([values.T.flatten(), output.flatten()])
        assert float(torch.corrcoef(both)[0, 1]) == pytest.approx(0.7, abs=0.05)


def with_template(template: str | None, path: str | None = None) -> Policy:
    config = ModelConfig(path=path, preset="qwen3-nano", vocab_size=400, chat_template=template)
    return load_policy(config, lambda: (TEXTS, ()), 0)


@pytest.mark.parametrize("name", shipped_templates())
def test_a_fresh_tokenizer_has_the_marks_of_its_chat_template(name: str, tmp_path: Path) -> None:
    made = with_template(name)
    assert made.model.config.eos_token_id == made.encoder.end_id != made.encoder.tokenizer.eos_token_id
    assert len(made.encoder.tokenizer) == made.model.config.vocab_size
    ids = made.encoder.chat.opening("You see.")
    made.save(tmp_path)
    for again in (load_pretrained(str(tmp_path)), with_template(None, str(tmp_path))):
        assert again.encoder.chat.opening("You see.") == ids
        assert again.encoder.end_id == made.encoder.end_id


def test_a_fresh_tokenizer_has_tokens_for_the_words_of_its_chat_template() -> None:
    config = ModelConfig(preset="qwen3-nano", vocab_size=800, chat_template="chatml")
    encoder = load_policy(config, lambda: (TEXTS, ()), 0).encoder
    words = [encoder.decode([i]) for i in encoder.encode("You are provided with function signatures")]
    assert words == ["You", " are", " provided", " with", " function", " signatures"]


def test_a_custom_chat_template_replaces_that_of_the_tokenizer(tmp_path: Path) -> None:
    with_template("chatml").save(tmp_path / "old")
    (tmp_path / "own.jinja").write_text(load_template("chatml").replace("|>assistant", "|>helper"))
    made = with_template(str(tmp_path / "own.jinja"), str(tmp_path / "old"))
    made.save(tmp_path / "new")
    for policy_ in (made, load_pretrained(str(tmp_path / "new"))):
        assert policy_.encoder.decode(policy_.encoder.chat.opening("")).endswith("helper\n")


def test_a_chat_template_of_another_family_is_refused(tmp_path: Path) -> None:
    with_template("chatml").save(tmp_path)
    with pytest.raises(ConfigError, match=r"'llama-3' closes a reply with .*of the model's family"):
        with_template("llama-3", str(tmp_path))


def test_an_unknown_chat_template_is_refused_before_anything_is_loaded() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown chat template 'qwen4'. Did you mean 'qwen3'\?"):
        with_template("qwen4", "./no/such/folder")
