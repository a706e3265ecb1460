"""Adapters: changed outputs, trained weights, and loading of saved adapters by other libraries."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import AutoPeftModelForCausalLM, PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from cairn.agents.backend import Request
from cairn.agents.backends.hf import HFBackend, HFConfig
from cairn.agents.config import SamplingConfig
from cairn.agents.models.lora import LoraConfig, trained
from cairn.agents.models.policy import ModelConfig, Policy, load_policy, load_pretrained
from cairn.core.config import build
from cairn.core.errors import ConfigError
from cairn.trainer.learner.learner import Learner, LearnerConfig
from tests.agents.models.test_policy import IDS, computed
from tests.agents.tiny import shared
from tests.trainer.learner.test_learner import mixed

MODULES = 2 * 7  # four of attention and three of the feed-forward part, in two layers


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    shared().save(folder)
    return folder


def adapted(base: Path, dtype: str = "float32", seed: int = 0, **settings: Any) -> Policy:
    lora = LoraConfig.model_validate({"rank": 4, "alpha": 8, **settings})
    return load_policy(
        build(ModelConfig, {"path": str(base), "dtype": dtype, "lora": lora}, "model"), lambda: ((), ()), seed
    )


def stirred(of: Policy) -> Policy:
    """Return the policy with adapters as training could have left them."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in trained(of.model).values():
            weight.copy_(0.1 * torch.randn(weight.shape, generator=generator))
    return of


def test_fresh_adapters_change_nothing_and_their_weights_follow_the_seed(base: Path) -> None:
    of, same, other = adapted(base), adapted(base), adapted(base, seed=1)
    assert torch.equal(computed(of.model), computed(shared().model))
    flat = [torch.cat([w.flatten() for w in trained(p.model).values()]) for p in (of, same, other)]
    assert torch.equal(flat[0], flat[1])
    assert not torch.equal(flat[0], flat[2])


def test_the_process_keeps_its_random_state(base: Path) -> None:
    before = torch.random.get_rng_state()
    adapted(base)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_an_adapter_adds_its_product_by_alpha_over_rank(base: Path) -> None:
    of = stirred(adapted(base))
    plain = load_pretrained(str(base))
    with torch.no_grad():
        for name, weight in plain.model.named_parameters():
            stem = name.removesuffix("weight")
            pair = [dict(of.model.named_parameters()).get(f"{stem}lora_{x}.default.weight") for x in "BA"]
            if pair[0] is not None and pair[1] is not None:
                weight += 8 / 4 * pair[0] @ pair[1]
    assert not torch.allclose(computed(of.model), computed(shared().model), atol=1e-2)
    torch.testing.assert_close(computed(of.model), computed(plain.model), rtol=0, atol=1e-4)


@pytest.mark.parametrize(("targets", "modules"), [("all-linear", MODULES), (("q_proj", "down_proj"), 4)])
def test_only_adapters_are_trained_and_all_weights_are_counted(base: Path, targets: object, modules: int) -> None:
    of = adapted(base, targets=targets)
    assert len(trained(of.model)) == 2 * modules
    assert all("lora_" in name for name in trained(of.model))
    # width 64, feed-forward 192; attention's four are 64 x 64
    attention, wide = 4 * (64 + 64), 4 * (64 + 192)
    assert of.num_trainable == (2 * (4 * attention + 3 * wide) if modules == MODULES else 2 * (attention + wide))
    assert of.num_parameters == shared().num_parameters + of.num_trainable
    assert shared().num_trainable == shared().num_parameters


def test_adapters_are_float32_on_a_bfloat16_base(base: Path, tmp_path: Path) -> None:
    of = stirred(adapted(base, "bfloat16"))
    of.save(tmp_path)
    for one in (of, load_pretrained(str(tmp_path), "bfloat16")):
        kinds = {name: p.dtype for name, p in one.model.named_parameters()}
        assert {kind for name, kind in kinds.items() if "lora_" in name} == {torch.float32}
        assert {kind for name, kind in kinds.items() if "lora_" not in name} == {torch.bfloat16}
        for name, weight in trained(of.model).items():
            assert torch.equal(trained(one.model)[name], weight)


def test_training_changes_the_adapters_alone(base: Path) -> None:
    of = adapted(base)
    before = {name: p.detach().clone() for name, p in of.model.named_parameters()}
    Learner(of, LearnerConfig.model_validate({"optimizer": {"lr": 1e-2}}), 1).update(mixed(), 0)
    changed = {name for name, p in of.model.named_parameters() if not torch.equal(p, before[name])}
    assert changed == {name for name in before if "lora_B" in name}  # A has a gradient once B is not 0


def test_a_saved_adapter_is_loaded_by_cairn_transformers_and_peft(base: Path, tmp_path: Path) -> None:
    of = stirred(adapted(base))
    of.save(tmp_path)
    assert not list(tmp_path.glob("model*.safetensors"))
    assert len(load_file(tmp_path / "adapter_model.safetensors")) == 2 * MODULES
    assert json.loads((tmp_path / "adapter_config.json").read_text())["base_model_name_or_path"] == str(base)
    again = load_pretrained(str(tmp_path))
    assert torch.equal(computed(again.model), computed(of.model))
    assert trained(again.model).keys() == trained(of.model).keys()
    assert again.encoder.decode([5, 6]) == of.encoder.decode([5, 6])
    by_transformers = AutoModelForCausalLM.from_pretrained(tmp_path)
    by_peft: Any = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), tmp_path)  # Any: untyped
    by_auto_peft = AutoPeftModelForCausalLM.from_pretrained(tmp_path)
    for plain in (by_transformers, by_peft, by_auto_peft):
        with torch.no_grad():
            torch.testing.assert_close(plain(IDS[None]).logits[0], computed(of.model), rtol=0, atol=1e-4)


def test_an_adapter_that_peft_saved_is_loaded(base: Path, tmp_path: Path) -> None:
    of = stirred(adapted(base))
    of.save(tmp_path / "ours")
    plain: Any = PeftModel.from_pretrained(
        AutoModelForCausalLM.from_pretrained(base), tmp_path / "ours"
    )  # Any: untyped
    plain.save_pretrained(tmp_path / "theirs")
    of.encoder.tokenizer.save_pretrained(tmp_path / "theirs")
    assert torch.equal(computed(load_pretrained(str(tmp_path / "theirs")).model), computed(of.model))


def test_sampling_uses_the_adapters_that_are_trained(base: Path) -> None:
    of = stirred(adapted(base))
    backend = HFBackend(HFConfig(), of, SamplingConfig(slots=1, max_reply_tokens=4))
    backend.submit(0, Request(prompt_ids=IDS.tolist(), choices=None, rng=random.Random(0), extends=False))
    done: list[Any] = []  # Any: replies, none of them failures
    while not done:
        done = backend.step()
    (reply,) = (reply for _, reply in done)
    logprobs = {name: torch.log_softmax(computed(p.model)[-1], -1) for name, p in (("ours", of), ("base", shared()))}
    assert float(reply.logprobs[0]) == pytest.approx(float(logprobs["ours"][reply.ids[0]]), abs=1e-4)
    assert abs(float(reply.logprobs[0]) - float(logprobs["base"][reply.ids[0]])) > 1e-2


def test_adapters_need_a_model_that_has_learned_something() -> None:
    with pytest.raises(ConfigError, match=r"lora needs model.path: a fresh model has learned nothing"):
        build(ModelConfig, {"preset": "qwen3-nano", "lora": {"rank": 4}}, "model")


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"dropout": 0.1}, "dropout"), ({"rank": 0}, "rank"), ({"alpha": 0}, "alpha"), ({"targets": "all"}, "targets")],
)
def test_settings_that_cannot_work_are_refused(base: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=rf"lora\.{message}"):
        build(ModelConfig, {"path": str(base), "lora": settings}, "model")


def test_modules_that_are_not_there_are_refused(base: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.lora\.targets: .*no_such_proj"):
        adapted(base, targets=("no_such_proj",))


def test_adapters_on_adapters_are_refused(base: Path, tmp_path: Path) -> None:
    adapted(base).save(tmp_path)
    with pytest.raises(ConfigError, match=r"has adapters already; leave out model\.lora"):
        adapted(tmp_path)


def test_an_adapter_without_its_base_is_refused_by_name(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path / "base")
    adapted(tmp_path / "base").save(tmp_path / "adapter")
    shutil.rmtree(tmp_path / "base")
    with pytest.raises(ConfigError, match=r"no base model of the adapter in .*adapter' at .*base"):
        load_pretrained(str(tmp_path / "adapter"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"use_dora": True}, "sets use_dora = True; only plain LoRA"),
        ({"megatron_config": {}, "megatron_core": "os"}, "sets megatron_config"),
        ({"rank_pattern": {"q_proj": 8}}, "sets rank_pattern"),
        ({"peft_type": "IA3"}, "sets peft_type = 'IA3'"),
        ({"target_modules": "(a+)+$"}, "targets"),
        ({"r": 8}, r"is \(4, 64\), expected \(8, 64\)"),
        ({"target_modules": ["q_proj"]}, "is not in both"),
        ({"base_model_name_or_path": None}, "does not name its base model"),
        ({"r": "many"}, "rank"),
    ],
)
def test_adapters_of_another_kind_are_refused(base: Path, change: dict[str, Any], message: str, tmp_path: Path) -> None:
    adapted(base).save(tmp_path)
    file = tmp_path / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(ConfigError, match=message):
        load_pretrained(str(tmp_path))


@pytest.mark.parametrize("fault", ["torn", "missing", "less", "no table", "no json"])
def test_a_damaged_adapter_is_refused(base: Path, fault: str, tmp_path: Path) -> None:
    adapted(base).save(tmp_path)
    weights, settings = tmp_path / "adapter_model.safetensors", tmp_path / "adapter_config.json"
    if fault == "torn":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif fault == "missing":
        weights.unlink()
    elif fault == "less":
        save_file(dict(list(load_file(weights).items())[1:]), weights)
    else:
        settings.write_text("[]" if fault == "no table" else "{")
    with pytest.raises(ConfigError, match=r"model\.path"):
        load_pretrained(str(tmp_path))
