"""Plans against known models, hand-computed sizes and the shipped recipes; `test_inventory` counts tensors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cairn.agents.models.lora import LoraConfig
from cairn.agents.models.policy import ModelConfig, load_policy
from cairn.cli._shared.plan_table import plan_tables, show_plan
from cairn.core.errors import ConfigError, UnknownNameError
from cairn.trainer.plan.activations import activation_bytes, layer_bytes
from cairn.trainer.plan.device import GIB, Device, at_hand, device
from cairn.trainer.plan.memory import engine_process, rank_process, trainer_process
from cairn.trainer.plan.plan import RunPlan, plan
from cairn.trainer.plan.shape import ModelShape, shape_of
from tests.agents.tiny import TEXTS
from tests.trainer.plan.known import RECIPES, SEVEN, SMALL, recipe

P = 1_543_714_304  # parameters of Qwen2.5-1.5B


def shape(folders: dict[str, str], name: str = SMALL, lora: LoraConfig | None = None) -> ModelShape:
    return shape_of(ModelConfig(path=folders[name], dtype="bfloat16"), lora)


def role_of(made: RunPlan, name: str) -> dict[str, float]:
    return dict(next(role for role in made.roles if role.name == name).parts)


@pytest.mark.parametrize(
    ("name", "parameters", "cache"),
    [(SMALL, P, 28_672), (SEVEN, 7_615_616_512, 57_344)],
    # cache: 2 x 28 layers x (2 x 128, 4 x 128) x 2 bytes
)
def test_known_models(name: str, parameters: int, cache: int, folders: dict[str, str]) -> None:
    made = shape(folders, name)
    assert (made.parameters, made.trained, made.cache_bytes) == (parameters, parameters, cache)


def test_a_missing_model_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model.path: cannot read the configuration of"):
        shape_of(ModelConfig(path=str(tmp_path)), None)


@pytest.mark.parametrize("preset", ["qwen3-nano", "qwen3-tiny"])
def test_a_fresh_model_has_the_planned_number_of_parameters(preset: str) -> None:
    config = ModelConfig(preset=preset, vocab_size=400)
    made = load_policy(config, lambda: (TEXTS, ()), 0)
    planned = shape_of(config.model_copy(update={"vocab_size": made.model.config.vocab_size}), None)
    assert planned.parameters == made.num_parameters


def test_adapters_by_hand(folders: dict[str, str]) -> None:
    q_and_v = shape(folders, lora=LoraConfig(rank=8, targets=("q_proj", "v_proj")))
    assert q_and_v.trained == 28 * 8 * ((1536 + 1536) + (1536 + 256))
    every = shape(folders, lora=LoraConfig(rank=1))
    a_layer = 2 * (1536 + 1536) + 2 * (1536 + 256) + 3 * (1536 + 8960)
    assert every.trained == 28 * a_layer


def test_states_of_1_5b_by_hand(folders: dict[str, str]) -> None:
    """bfloat16 weights, 2 bytes each; float32 gradient, master and two moments, 4 bytes each: 18 bytes, 27.8 GB."""
    config = recipe("qwen2.5-1.5b-household", folders)
    phases = trainer_process(config, shape(folders), device("h100")).phases
    for phase in (phases["backward pass"], phases["optimiser step"]):
        assert phase["weights"] + phase["gradients"] + phase["optimiser"] == 18 * P
    assert phases["optimiser step"]["temporary tensors"] == 8 * 151_936 * 1536  # two of the embeddings
    assert phases["backward pass"]["reference"] == 2 * P


def test_activations_of_1_5b_by_hand(folders: dict[str, str]) -> None:
    made = shape(folders)
    norms, attention, feed_forward = 2 * 8 * 1536, 2 * (3 * 1536 + 2 * 256), 4 * 2 * 8960
    assert layer_bytes(made) == norms + attention + feed_forward == 106_496
    assert activation_bytes(made, 1, is_checkpointed=False) == 28 * 106_496 + 8 * 1536
    assert activation_bytes(made, 1, is_checkpointed=True) == 28 * 2 * 1536 + 106_496 + 8 * 1536


def test_a_sequence_longer_than_a_micro_batch_counts_whole(folders: dict[str, str]) -> None:
    config = recipe("qwen2.5-1.5b-household", folders, **{"learner.micro_batch_tokens": 64})
    parts = trainer_process(config, shape(folders), device("h100")).phases["backward pass"]
    assert parts["activations"] == activation_bytes(shape(folders), 4096, is_checkpointed=True)


def test_sharded_states_and_gathers_by_hand(folders: dict[str, str]) -> None:
    config = recipe("qwen2.5-1.5b-household-8gpu", folders)
    phases = rank_process(config, shape(folders), device("h100")).phases
    root = 151_936 * 1536 + 1536  # tied embeddings and the last norm
    layer = (P - root) / 28
    back = phases["backward pass"]
    assert back["weights"] == P  # 2 bytes over 2 ranks
    assert back["gradients"] == 2 * P
    assert back["optimiser"] == 6 * P
    assert back["gathered weights"] == 2 * (root + 3 * layer)
    assert back["gradient reduction"] == pytest.approx(2 * root + max(4 * root, 10 * layer))
    assert phases["start"]["whole model before sharding"] == 2 * P
    assert phases["state to the trainer"]["gathered tensor"] == 8 * 151_936 * 1536


def test_an_engine_takes_its_share_or_its_cache(folders: dict[str, str]) -> None:
    share = recipe("qwen2.5-1.5b-household", folders, **{"sampling.vllm.memory_share": 0.5})
    made = engine_process(share, shape(folders), device("h100"))
    assert made is not None
    assert made.total == pytest.approx(40.5 * GIB)  # half of the card, and the context
    given = {"sampling.vllm.cache_gib": 8.0, "sampling.vllm.memory_share": 0.05}
    made = engine_process(recipe("qwen2.5-1.5b-household", folders, **given), shape(folders), device("h100"))
    assert made is not None
    assert made.parts["rollout cache"] == 8 * GIB
    assert made.parts["free at vLLM's start"] == 0
    graphs = recipe("qwen2.5-1.5b-household", folders, **given, **{"sampling.vllm.enforce_eager": False})
    captured = engine_process(graphs, shape(folders), device("h100"))
    assert captured is not None
    assert captured.total == made.total + GIB


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.stem)
def test_every_recipe_fits_the_gpus_that_it_is_for(file: Path, folders: dict[str, str]) -> None:
    made = plan(recipe(file, folders), device("h100x8" if "8gpu" in file.stem else "h100"))
    assert made.problems == []
    assert made.remedy is None
    assert made.sequences is not None
    assert made.sequences >= 60  # a worker of the 8-GPU runs has 64 slots
    assert made.sampled_per_second is not None
    assert made.sampled_per_second > 1000
    assert json.loads(json.dumps(plan_tables(made)))["fits"]


def test_recipes_cover_both_sizes_and_environments_on_one_and_on_eight_gpus() -> None:
    assert sorted(file.stem for file in RECIPES) == sorted(
        f"qwen2.5-{size}-{env}{many}"
        for size in ("1.5b", "7b")
        for env in ("household", "webshop")
        for many in ("", "-8gpu")
    )


@pytest.mark.parametrize("size", ["1.5b", "7b"])
def test_the_first_card_holds_the_engine_of_the_evaluation_too(size: str, folders: dict[str, str]) -> None:
    greedy = recipe(f"qwen2.5-{size}-household-8gpu", folders, **{"sampling.vllm.memory_share": 0.85})
    made = plan(greedy, device("h100x8"))
    first = role_of(made, "trainer and rollout worker")
    assert first["evaluation's vLLM: rollout cache"] == first["vLLM: rollout cache"] > 50 * GIB
    assert made.problems == ["trainer and rollout worker: 63.9 GiB too much on h100"]  # 2 x (68 + 0.5) + 0.5 - 73.6
    assert made.remedy == {"sampling.vllm.memory_share": 0.45}


def test_a_trainer_that_computes_holds_a_second_learner(folders: dict[str, str]) -> None:
    """With hf the trainer evaluates by itself, so that its copy of the learner's state is on the first card."""
    config = recipe("qwen2.5-1.5b-household-8gpu", folders, **{"sampling.method": "hf"})
    first = role_of(plan(config, device("h100x8")), "trainer and rollout worker")
    assert first["trainer: optimiser"] == 12 * P
    assert first["trainer: weights"] == first["worker: weights"] == 2 * P
    apart = role_of(
        plan(recipe("qwen2.5-1.5b-household-8gpu", folders), device("h100x8")), "trainer and rollout worker"
    )
    assert not any("optimiser" in part or "weights" in part for part in apart if "vLLM" not in part)


def test_hf_holds_two_caches_during_an_evaluation(folders: dict[str, str]) -> None:
    config = recipe("qwen2.5-1.5b-household", folders, **{"sampling.method": "hf", "sampling.slots": 32})
    phases = trainer_process(config, shape(folders), device("h100")).phases
    cache = 32 * 4096 * 28_672 * 1.5  # it grows by half
    assert phases["evaluation"]["rollout cache"] == phases["evaluation"]["evaluation cache"] == cache
    assert phases["backward pass"]["rollout cache"] == cache  # kept while the policy learns
    assert "evaluation cache" not in phases["backward pass"]


def test_main_memory_by_hand(folders: dict[str, str]) -> None:
    made = plan(recipe("qwen2.5-7b-household-8gpu", folders), device("h100x8"))
    host = role_of(made, "main memory of one machine")
    parameters = 7_615_616_512
    assert host["trainer's state"] == 16 * parameters  # weights, masters, moments, reference: 122 GB
    assert host["state of the ranks"] == 32 * parameters  # of the first rank, and Ray's copy
    assert host["workers' policies"] == 4 * 2 * parameters
    assert host["weights for vLLM"] == 5 * 2 * 2 * parameters  # 4 workers and the evaluation, two versions each
    assert host["weights in Ray"] == 3 * 2 * parameters
    single = plan(recipe("qwen2.5-1.5b-household", folders), device("h100"))
    assert role_of(single, "main memory of one machine")["checkpoint"] == 12 * P


def test_a_plan_is_printed_with_its_advice(folders: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(
        plan(recipe("qwen2.5-7b-household-8gpu", folders, **{"sampling.vllm.memory_share": 0.85}), device("h100x8"))
    )
    printed = capsys.readouterr()
    assert "trainer and rollout worker, 1 of them, each" in printed.out
    assert "main memory of one machine" in printed.out
    assert "It fits with --set sampling.vllm.memory_share=0.45" in printed.err


def test_devices() -> None:
    assert (device("h100x8").count, device("h100x8").memory, device("a100-40").memory) == (8, 80 * GIB, 40 * GIB)
    with pytest.raises(UnknownNameError, match="Did you mean 'h100'"):
        device("h10")
    here = at_hand()
    assert here.memory > 0
    assert here.flops > 1e9
    assert here.bandwidth > 1e8


def test_speeds_by_hand(folders: dict[str, str]) -> None:
    config = recipe("qwen2.5-1.5b-household-8gpu", folders)
    made = plan(config, Device(name="unit", memory=80 * GIB, flops=1e15, bandwidth=1e12, count=8))
    forward = 2 * P + 4 * 28 * 1536 * 2048
    assert made.learned_per_second == pytest.approx(2 * 0.4 * 1e15 / (4 * forward))
    step = (P * 2 + 64 * 2048 * 28_672) / 1e12  # reading takes longer than computing
    assert made.sampled_per_second == pytest.approx(6 * 0.6 * 64 / step)
