"""Plans held against known models, against tensors that are really there, and against the recipes that ship."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from cairn.agents.models.lora import LoraConfig
from cairn.agents.models.packed_attention import Ragged, hidden_states
from cairn.agents.models.policy import ModelConfig, load_policy
from cairn.cli._shared.plan_table import plan_tables
from cairn.core.errors import ConfigError, UnknownNameError
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.learner.learner import Learner, LearnerConfig
from cairn.trainer.plan.device import GIB, Device, at_hand, device
from cairn.trainer.plan.memory import learner_parts
from cairn.trainer.plan.plan import plan
from cairn.trainer.plan.shape import shape_of
from tests.agents.tiny import TEXTS

RECIPES = sorted(Path("configs/runs").glob("qwen*.toml"))
QWEN = {
    "Qwen2.5-1.5B": {
        "hidden_size": 1536, "intermediate_size": 8960, "num_attention_heads": 12, "num_key_value_heads": 2,
        "vocab_size": 151936, "tie_word_embeddings": True,
    },
    "Qwen2.5-7B": {
        "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_key_value_heads": 4,
        "vocab_size": 152064, "tie_word_embeddings": False,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return folders that hold the models' configurations, without weights."""
    out = {}
    for name, sizes in QWEN.items():
        folder = tmp_path_factory.mktemp(name)
        settings = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "num_hidden_layers": 28, **sizes}
        (folder / "config.json").write_text(json.dumps(settings))
        out[name] = str(folder)
    return out


def recipe(file: Path, folders: dict[str, str], **changes: Any) -> RunConfig:
    name = "Qwen2.5-7B" if "7b" in file.stem else "Qwen2.5-1.5B"
    return load_run_config(file, {"model.path": folders[name], **changes})


@pytest.mark.parametrize(
    ("name", "parameters", "cache"),
    [("Qwen2.5-1.5B", 1_543_714_304, 28_672), ("Qwen2.5-7B", 7_615_616_512, 57_344)],
    # cache: 2 x 28 layers x (2 x 128, 4 x 128) x 2 bytes
)
def test_models_that_are_known(name: str, parameters: int, cache: int, folders: dict[str, str]) -> None:
    shape = shape_of(ModelConfig(path=folders[name], dtype="bfloat16"), None)
    assert (shape.parameters, shape.trained, shape.cache_bytes) == (parameters, parameters, cache)


def test_a_model_whose_configuration_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model.path: cannot read the configuration of"):
        shape_of(ModelConfig(path=str(tmp_path)), None)


@pytest.mark.parametrize("preset", ["qwen3-nano", "qwen3-tiny"])
def test_a_fresh_model_has_the_planned_number_of_parameters(preset: str) -> None:
    config = ModelConfig(preset=preset, vocab_size=400)
    made = load_policy(config, lambda: (TEXTS, ()), 0)
    planned = shape_of(config.model_copy(update={"vocab_size": made.model.config.vocab_size}), None)
    assert planned.parameters == made.num_parameters


def test_adapters_by_hand(folders: dict[str, str]) -> None:
    config = ModelConfig(path=folders["Qwen2.5-1.5B"], dtype="bfloat16")
    q_and_v = shape_of(config, LoraConfig(rank=8, targets=("q_proj", "v_proj")))
    assert q_and_v.trained == 28 * 8 * ((1536 + 1536) + (1536 + 256))
    every = shape_of(config, LoraConfig(rank=1))
    a_layer = 2 * (1536 + 1536) + 2 * (1536 + 256) + 3 * (1536 + 8960)
    assert every.trained == 28 * a_layer


def small(**changes: Any) -> RunConfig:
    return load_run_config({"env": {"id": "examples.doors:Doors"}, "imitation": {"oracle": "reader"}}, changes)


def bytes_of(tensors: Any) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


def test_planned_weights_gradients_and_optimiser_equal_the_measured_ones() -> None:
    made = load_policy(ModelConfig(preset="qwen3-tiny", vocab_size=400), lambda: (TEXTS, ()), 0)
    learner = Learner(made, LearnerConfig(), total_steps=1)
    for weight in made.model.parameters():
        weight.grad = torch.ones_like(weight)
    gradients = bytes_of(p.grad for p in made.model.parameters())
    learner.optimizer.step(1.0, max_norm=1.0)
    config = small(**{"model.preset": "qwen3-tiny", "model.vocab_size": made.model.config.vocab_size})
    parts = learner_parts(config, shape_of(config.model, None), is_gpu=False)
    held = list(made.model.parameters())
    assert parts["weights"] == bytes_of(held)
    assert parts["gradients"] == gradients
    moments = [t for t in learner.optimizer.tensors().values() if t.numel() > 1]
    assert parts["optimiser"] == pytest.approx(bytes_of(moments), rel=0.01)


def kept(config: RunConfig, tokens: int) -> float:
    """Return the measured bytes that a forward pass over this many tokens leaves behind, embeddings and head apart."""
    made = load_policy(config.model, lambda: (TEXTS, ()), 0)
    own = {p.data_ptr() for p in made.model.parameters()}
    seen: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.data_ptr() not in own and tensor.is_floating_point():
            seen[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    ragged = Ragged.of([tokens], torch.device("cpu"))
    with torch.autograd.graph.saved_tensors_hooks(note, lambda t: t):
        states = hidden_states(made.model, torch.zeros(tokens, dtype=torch.long), ragged)
    held = float(sum(seen.values()))
    del states
    return held


def test_planned_activations_are_close_to_the_measured_ones() -> None:
    config = small(**{"model.preset": "qwen3-mini", "model.vocab_size": 400, "learner.micro_batch_tokens": 512})
    planned = learner_parts(config, shape_of(config.model, None), is_gpu=False)["activations"]
    assert planned == pytest.approx(kept(config, 512), rel=0.3)


def test_checkpointing_keeps_one_layer_and_the_inputs_of_the_others(folders: dict[str, str]) -> None:
    config = recipe(RECIPES[0], folders)
    shape = shape_of(config.model, None)
    parts = learner_parts(config, shape, is_gpu=True)
    assert parts["activations"] == 4096 * (28 * 1536 * 2 + shape.kept_bytes)


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.stem)
def test_every_recipe_fits_the_gpus_that_it_is_for(file: Path, folders: dict[str, str]) -> None:
    made = plan(recipe(file, folders), device("h100x8" if "8gpu" in file.stem else "h100"))
    assert made.problems == []
    assert made.sequences is not None
    assert made.sequences >= 8
    assert made.sampled_per_second is not None
    assert made.sampled_per_second > 1000
    assert json.loads(json.dumps(plan_tables(made)))["fits"]


def test_there_are_recipes_for_both_sizes_and_environments_on_one_and_on_eight_gpus() -> None:
    assert sorted(file.stem for file in RECIPES) == sorted(
        f"qwen2.5-{size}-{env}{many}"
        for size in ("1.5b", "7b")
        for env in ("household", "webshop")
        for many in ("", "-8gpu")
    )


def test_a_run_that_does_not_fit_is_rejected_with_settings_to_change(folders: dict[str, str]) -> None:
    whole = recipe(Path("configs/runs/qwen2.5-1.5b-household.toml"), folders, **{"model.path": folders["Qwen2.5-7B"]})
    made = plan(whole, device("h100"))
    with pytest.raises(
        ConfigError, match=r"GiB too much on h100: set model.lora, or learn on more GPUs: cluster.ranks"
    ):
        made.check()


def test_advice_leads_to_a_plan_that_fits(folders: dict[str, str]) -> None:
    greedy: dict[str, Any] = {
        "learner.checkpointing": False,
        "learner.micro_batch_tokens": 65_536,
        "sampling.vllm.memory_share": 0.6,
        "sampling.max_reply_tokens": 32,  # so that activations weigh more than logits
    }
    file = Path("configs/runs/qwen2.5-1.5b-household.toml")
    for _ in range(12):
        problems = plan(recipe(file, folders, **greedy), device("h100")).problems
        if not problems:
            break
        if "learner.checkpointing" in problems[0]:
            greedy["learner.checkpointing"] = True
        elif "sampling.vllm.memory_share" in problems[0]:
            greedy["sampling.vllm.memory_share"] -= 0.1
        else:
            assert "lower learner.micro_batch_tokens" in problems[0]
            greedy["learner.micro_batch_tokens"] //= 2
    assert problems == []
    assert greedy["learner.checkpointing"]
    assert greedy["learner.micro_batch_tokens"] < 65_536


def test_more_gpus_than_there_are_are_refused(folders: dict[str, str]) -> None:
    made = plan(recipe(Path("configs/runs/qwen2.5-7b-webshop-8gpu.toml"), folders), device("h100x4"))
    assert "8 GPUs are asked for and 4 are there" in made.problems[0]


def test_a_cache_too_small_for_one_sequence_is_refused(folders: dict[str, str]) -> None:
    tight = recipe(Path("configs/runs/qwen2.5-7b-household.toml"), folders, **{"sampling.vllm.memory_share": 0.178})
    assert any("sampling.vllm.memory_share" in problem for problem in plan(tight, device("h100")).problems)


def test_slots_that_share_memory_with_the_learner_count(folders: dict[str, str]) -> None:
    config = recipe(
        RECIPES[1], folders, **{"sampling.method": "hf", "sampling.slots": 512, "sampling.max_context": 32_768}
    )
    assert "lower sampling.slots" in plan(config, device("h100")).problems[0]


def test_devices() -> None:
    assert (device("h100x8").count, device("h100x8").memory, device("a100-40").memory) == (8, 80 * GIB, 40 * GIB)
    with pytest.raises(UnknownNameError, match="Did you mean 'h100'"):
        device("h10")
    here = at_hand()
    assert here.memory > 0
    assert here.flops > 1e9
    assert here.bandwidth > 1e8


def test_speeds_by_hand(folders: dict[str, str]) -> None:
    config = recipe(Path("configs/runs/qwen2.5-1.5b-household-8gpu.toml"), folders)
    made = plan(config, Device(name="unit", memory=80 * GIB, flops=1e15, bandwidth=1e12, count=8))
    forward = 2 * 1_543_714_304 + 4 * 28 * 1536 * 2048
    assert made.learned_per_second == pytest.approx(2 * 0.4 * 1e15 / (4 * forward))
    step = (1_543_714_304 * 2 + 64 * 2048 * 28_672) / 1e12  # reading takes longer than computing
    assert made.sampled_per_second == pytest.approx(6 * 0.6 * 64 / step)
