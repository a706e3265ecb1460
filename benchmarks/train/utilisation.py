"""Model FLOP utilisation of an optimiser step, relative to the device's bf16 peak.

A Qwen2-shaped model with 1.5 billion random weights in bfloat16 trains on concatenated sequences, with the same code as
training. It needs a CUDA device whose peak is in the table, and no network. Recomputed activations count once, as the
metric requires.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from cairn.agents.models.packed_attention import NAME
from cairn.agents.models.policy import Policy
from cairn.benchmarks.outcome import Row, row
from cairn.benchmarks.train.steps import make_rows
from cairn.core.records import Constraint
from cairn.core.seeding import numpy_generator
from cairn.trainer.learner.batch import Batch
from cairn.trainer.learner.learner import logprobs_and_entropy
from cairn.trainer.learner.optimizers import OptimizerConfig, PolicyOptimizer
from cairn.trainer.learner.samples import Sample
from cairn.trainer.losses.clip import clipped

LEAST = 0.40
# Dense bfloat16 FLOPs per second, from the vendors' data sheets; the first name contained in the device's name applies.
PEAKS = {
    "B200": 2250e12,
    "H100 PCIe": 756e12,
    "H100 NVL": 835e12,
    "H100": 989e12,
    "H200": 989e12,
    "GH200": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "L40": 181e12,
    "L4": 121e12,
    "A10G": 70e12,
    "RTX 4090": 165e12,
}
_LENGTH, _SEQUENCES, _STEPS = 4096, 2, 5  # twice as many would not fit into 80 GB without recomputed activations
_DECIDED = 4  # one in `_DECIDED` tokens belongs to a reply

# Qwen2.5-1.5B's shape.
LARGE: dict[str, Any] = {  # Any: the arguments of transformers
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_hidden_layers": 28,
    "num_attention_heads": 12,
    "num_key_value_heads": 2,
    "vocab_size": 151_936,
    "max_position_embeddings": 32_768,
    "tie_word_embeddings": True,
}

TINY: dict[str, Any] = {  # for tests of the scripts  # Any: as above
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 200,
    "max_position_embeddings": 512,
    "tie_word_embeddings": True,
}


@dataclass(frozen=True, kw_only=True)
class StepShape:
    """The sizes that determine the operations of a step."""

    hidden_weights: int  # used by every token: all except embeddings and output layer
    output_weights: int  # used only by states that decide a token
    layers: int
    width: int  # of attention: heads x head width


def rows(quick: bool) -> list[Row]:
    """Return the utilisation with and without recomputed activations, if it can be measured."""
    name = "train: model FLOP utilisation, 1.5 B weights, packed 4k sequences"
    if not torch.cuda.is_available():
        return [row(f"{name}, not measured: no CUDA device", None, "")]
    device = torch.cuda.get_device_name()
    peak = peak_of(device)
    if peak is None:
        return [row(f"{name}, not measured: the bf16 peak of {device!r} is not in the table", None, "")]
    out = []
    for recompute in (False, True):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        rate, seconds = measure(LARGE, [_LENGTH] * _SEQUENCES, recompute, 2 if quick else _STEPS, "cuda")
        how = f"{name}, activations {'recomputed' if recompute else 'kept'}"
        out += [
            row(how, rate / peak, "of peak", f">= {LEAST}", f"{device}, {peak / 1e12:.0f} TFLOP/s"),
            row(f"{how}, optimiser step", seconds, "s"),
            row(f"{how}, peak memory of the device", torch.cuda.max_memory_allocated() / 2**20, "MB"),
        ]
    return out


def tiny_rows() -> list[Row]:
    """Return the time of a step of a tiny model on the CPU: a test of the measurement."""
    rate, seconds = measure(TINY, [64] * _SEQUENCES, False, 1, "cpu")
    return [row("train: tiny step", seconds, "s"), row("train: tiny step, model FLOPs per second", rate, "FLOP/s")]


def peak_of(device: str) -> float | None:
    """Return a device's peak, or None if it is unknown."""
    return next((peak for name, peak in PEAKS.items() if name in device.replace("-", " ").split(" (")[0]), None)


def measure(
    config: dict[str, Any], lengths: list[int], recompute: bool, steps: int, device: str
) -> tuple[float, float]:  # Any: as above
    """Return model FLOPs per second and seconds per step, without the first step."""
    model, samples = build(config, recompute, device), _samples(lengths, config["vocab_size"])
    optimizer = PolicyOptimizer(model, OptimizerConfig(lr=1e-6))
    policy = Policy(model=model, encoder=None)  # type: ignore[arg-type]  # the encoder is not used
    weights = [np.full(len(s.positions), 1.0) for s in samples]
    batch = make_rows(samples, weights, torch.device(device))
    _step(policy, batch, optimizer)
    _wait(device)
    began = time.perf_counter()
    for _ in range(steps):
        _step(policy, batch, optimizer)
    _wait(device)
    seconds = (time.perf_counter() - began) / steps
    return step_flops(shape_of(model), lengths, sum(len(s.positions) for s in samples)) / seconds, seconds


def build(config: dict[str, Any], recompute: bool, device: str) -> Any:  # Any: as above
    """Return a model with random weights."""
    settings = Qwen2Config(
        **config,
        attn_implementation=NAME,
    )
    with torch.device(device):
        model: Any = Qwen2ForCausalLM(settings)  # Any: transformers has no types
    model = model.to(torch.bfloat16)
    if recompute:  # the newer name of this method does not exist in the oldest supported transformers
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model.train()


def shape_of(model: Any) -> StepShape:  # Any: as above
    """Return a model's shape."""
    total = sum(p.numel() for p in model.parameters())
    embeddings = model.get_input_embeddings().weight.numel()
    output = model.get_output_embeddings().weight.numel()
    config = model.config
    is_tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return StepShape(
        hidden_weights=total - embeddings - (0 if is_tied else output),
        output_weights=output,
        layers=config.num_hidden_layers,
        width=config.num_attention_heads * head,
    )


def step_flops(shape: StepShape, lengths: list[int], decided: int) -> float:
    """Return the model FLOPs of a forward and backward pass; a multiply-add counts 2.

    The backward pass costs twice the forward pass: 6 x weights x tokens, with the output layer's weights for `decided`
    tokens only. Token t of a sequence attends to t keys, which adds 12 x layers x width x t: one product with the keys
    and one with the values.
    """
    weights = 6.0 * (shape.hidden_weights * sum(lengths) + shape.output_weights * decided)
    pairs = sum(n * (n + 1) // 2 for n in lengths)
    return weights + 12.0 * shape.layers * shape.width * pairs


def _samples(lengths: list[int], vocab_size: int) -> list[Sample]:
    rng = numpy_generator("utilisation benchmark")
    out = []
    for length in lengths:
        places = np.arange(1, length, _DECIDED, dtype=np.int32)
        out.append(
            Sample(
                ids=rng.integers(0, vocab_size, length, dtype=np.int32),
                positions=places,
                old_logprobs=np.full(len(places), -np.log(vocab_size)),
                advantages=rng.choice([-1.0, 1.0], len(places)),
                turns=np.zeros(len(places), np.int32),
                allowed=Constraint(
                    ids=np.empty(0, np.int32),
                    offsets=np.zeros(len(places) + 1, np.int32),
                ),
            )
        )
    return out


def _step(policy: Policy, batch: Batch, optimizer: PolicyOptimizer) -> None:
    logprobs_D, _ = logprobs_and_entropy(policy, batch, 1.0)
    loss_D, _ = clipped((logprobs_D - logprobs_D.detach()).exp(), batch.advantages_D, low=0.2, high=0.2)
    torch.autograd.backward((batch.loss_weights_D * loss_D).mean())
    optimizer.step(1.0, max_norm=1.0)


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
