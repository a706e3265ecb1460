"""The plan's parts against the tensors of tiny models after a real learner step on the CPU.

States (weights, gradients, optimiser, reference) must be equal to the byte; activations may differ by 15 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM, Qwen2Config, Qwen3Config

from cairn.agents.models.lora import LoraConfig, add_lora, trained
from cairn.agents.models.packed_attention import NAME, Ragged, hidden_states
from cairn.agents.models.policy import ModelConfig, Policy
from cairn.trainer.config import RunConfig
from cairn.trainer.learner.distributed import SINGLE, ProcessGroup, run_ranks, shard
from cairn.trainer.learner.learner import Learner, LearnerConfig
from cairn.trainer.plan.activations import activation_bytes
from cairn.trainer.plan.device import GIB, Device
from cairn.trainer.plan.memory import rank_process, trainer_process
from cairn.trainer.plan.shape import ModelShape, shape_of
from tests.agents.tiny import policy as tiny_policy
from tests.trainer.learner.test_learner import sample

CPU = Device(name="cpu", memory=8 * GIB, flops=1e10, bandwidth=1e10, is_gpu=False)
EMA = {"kind": "ema", "decay": 0.9, "weight": 0.1}
INITIAL = {"kind": "initial", "weight": 0.1}
STATES = ("weights", "gradients", "optimiser", "reference")


def settings(kind: str) -> Any:  # Any: transformers has no types
    """Return a small configuration of one of two families: Qwen3 normalises queries and keys."""
    build: Any = {"qwen2": Qwen2Config, "qwen3": Qwen3Config}[kind]
    return build(
        vocab_size=400, hidden_size=128, intermediate_size=384, num_hidden_layers=4, num_attention_heads=8,
        num_key_value_heads=2, tie_word_embeddings=kind == "qwen3", **({"head_dim": 16} if kind == "qwen3" else {}),
    )  # fmt: skip


def made(kind: str, dtype: str, lora: LoraConfig | None) -> Any:  # Any: as above
    build: Any = AutoModelForCausalLM.from_config
    torch.manual_seed(0)
    model = build(settings(kind), attn_implementation=NAME)
    for weight in model.parameters():
        weight.data = weight.data.to(getattr(torch, dtype))
    if lora is not None:
        add_lora(model, lora, 0)
    return model.train()


def planned_shape(tmp_path: Any, kind: str, dtype: str, lora: LoraConfig | None) -> ModelShape:
    settings(kind).save_pretrained(tmp_path)
    return shape_of(ModelConfig.model_validate({"path": str(tmp_path), "dtype": dtype}), lora)


def run(learner: dict[str, Any], **more: Any) -> RunConfig:
    return RunConfig.model_validate({"learner": learner, **more})


def local_bytes(tensors: Iterable[Tensor]) -> int:
    """Return the bytes of this rank's shards, storages counted once; scalars, which stay on the host, do not count."""
    local = [tensor.to_local() if isinstance(tensor, DTensor) else tensor for tensor in tensors if tensor.ndim]
    return sum({each.untyped_storage().data_ptr(): each.untyped_storage().nbytes() for each in local}.values())


def counted(learner: Learner, given: Any) -> dict[str, int]:
    """Return the bytes of the states of a learner after one step, and of the gradients within it."""
    model, gradients = learner.policy.model, []
    step = learner.optimizer.step

    def noted(rate: float, max_norm: float) -> Tensor:
        holders = (*trained(model).values(), *learner.optimizer._masters.values())
        gradients.append(local_bytes(p.grad for p in holders if p.grad is not None))
        return step(rate, max_norm)

    learner.optimizer.step = noted  # type: ignore[method-assign]  # to see the gradients before they are cleared
    learner.update(given, 0)
    optimizer = learner.optimizer
    slots = [slot for part, _, _ in optimizer._parts for state in part.state.values() for slot in state.values()]
    reference = () if learner.reference is None else learner.reference._tensors.values()
    return {
        "weights": local_bytes(model.parameters()),
        "gradients": gradients[0],
        "optimiser": local_bytes([*slots, *optimizer._masters.values()]),
        "reference": local_bytes(reference),
    }


CASES: dict[str, tuple[str, str, LoraConfig | None, dict[str, Any]]] = {
    "adamw": ("qwen2", "float32", None, {}),
    "adamw, bfloat16": ("qwen2", "bfloat16", None, {}),
    "muon": ("qwen3", "float32", None, {"optimizer": {"kind": "muon"}}),
    "muon, bfloat16": ("qwen2", "bfloat16", None, {"optimizer": {"kind": "muon"}}),
    "lora": ("qwen2", "float32", LoraConfig(rank=8), {}),
    "lora, bfloat16, muon": ("qwen3", "bfloat16", LoraConfig(rank=8), {"optimizer": {"kind": "muon"}}),
    "lora of two matrices": ("qwen2", "bfloat16", LoraConfig(rank=4, targets=("q_proj", "v_proj")), {}),
    "initial": ("qwen2", "bfloat16", None, {"reference": INITIAL}),
    "initial, lora": ("qwen2", "bfloat16", LoraConfig(rank=8), {"reference": INITIAL}),
    "ema": ("qwen2", "bfloat16", None, {"reference": EMA}),
    "ema, checkpointing": ("qwen3", "float32", None, {"reference": EMA, "checkpointing": True}),
}


def step_of(model: Any, learner: dict[str, Any], ranks: ProcessGroup = SINGLE) -> dict[str, int]:
    loose = {"max_mismatch": 1e9, **learner}  # the samples' logprobs are not those of this model
    policy = Policy(model=model, encoder=tiny_policy().encoder)
    made_of = Learner(policy, LearnerConfig.model_validate(loose), 1, ranks=ranks)
    return counted(made_of, [sample(n, 24, is_constrained=False) for n in range(4)])


@pytest.mark.parametrize("name", CASES)
def test_states_are_equal_to_the_byte(name: str, tmp_path: Any) -> None:
    kind, dtype, lora, learner = CASES[name]
    planned = trainer_process(run(learner), planned_shape(tmp_path, kind, dtype, lora), CPU)
    parts = {**planned.phases["between updates"], "gradients": planned.phases["backward pass"]["gradients"]}
    assert {part: parts[part] for part in STATES} == step_of(made(kind, dtype, lora), learner)


def sharded_step(ranks: ProcessGroup, name: str) -> dict[str, int]:
    kind, dtype, lora, learner = CASES[name]
    model = made(kind, dtype, lora)
    shard(Policy(model=model, encoder=None), ranks)  # type: ignore[arg-type]  # the encoder is not used
    return step_of(model, learner, ranks)


@pytest.mark.parametrize("name", ["initial", pytest.param("lora", marks=pytest.mark.slow)])
def test_states_of_two_ranks_are_halves(name: str, tmp_path: Any) -> None:
    kind, dtype, lora, learner = CASES[name]
    planned = rank_process(run(learner, cluster={"ranks": 2}), planned_shape(tmp_path, kind, dtype, lora), CPU).phases[
        "backward pass"
    ]
    for of_rank in run_ranks(2, sharded_step, name, timeout_s=120.0):
        assert {part: planned[part] for part in STATES} == of_rank


def saved_bytes(model: Any, compute: Callable[[], Tensor]) -> int:
    """Return the bytes that autograd saves, storages counted once, without parameters and buffers."""
    own = {each.untyped_storage().data_ptr() for each in (*model.parameters(), *model.buffers())}
    saved: dict[int, Tensor] = {}

    def note(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage().data_ptr() not in own:
            saved.setdefault(tensor.untyped_storage().data_ptr(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        result = compute()
    del result
    return sum(tensor.untyped_storage().nbytes() for tensor in saved.values())


@pytest.mark.parametrize("is_checkpointed", [False, True])
@pytest.mark.parametrize("lora", [None, LoraConfig(rank=8), LoraConfig(rank=4, targets=("q_proj", "v_proj"))])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", ["qwen2", "qwen3"])
def test_activations_are_close(
    kind: str, dtype: str, lora: LoraConfig | None, is_checkpointed: bool, tmp_path: Any
) -> None:
    model = made(kind, dtype, lora)
    Policy(model=model, encoder=None).set_checkpointing(is_checkpointed)  # type: ignore[arg-type]  # as above
    tokens = 512
    ragged = Ragged.of([tokens], torch.device("cpu"))
    ids = torch.zeros(tokens, dtype=torch.long)
    measured = saved_bytes(model, lambda: hidden_states(model, ids, ragged))
    if is_checkpointed:  # the backward pass also holds one layer that it has computed again
        layer = model.get_decoder().layers[0]
        measured += one_layer(model, layer, ragged, tokens)
    planned = activation_bytes(planned_shape(tmp_path, kind, dtype, lora), tokens, is_checkpointed=is_checkpointed)
    assert planned == pytest.approx(measured, rel=0.15)


def one_layer(model: Any, layer: Any, ragged: Ragged, tokens: int) -> int:
    """Return the bytes that a forward pass of one layer saves."""
    Policy(model=model, encoder=None).set_checkpointing(False)  # type: ignore[arg-type]  # as above
    states = torch.randn(1, tokens, 128, dtype=layer.input_layernorm.weight.dtype).requires_grad_()
    places = model.get_decoder().rotary_emb(states, ragged.positions_N[None])
    return saved_bytes(
        model, lambda: layer(states, position_embeddings=places, position_ids=ragged.positions_N[None], ragged=ragged)
    )
