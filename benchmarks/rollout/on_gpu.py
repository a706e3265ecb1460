"""Sampling speed of the `hf` back end on a GPU, with 1.5 billion random weights: no downloads, no environment.

64 slots read prompts of 512 tokens and sample 128 tokens each, freely, as one batch of first turns.
"""

from __future__ import annotations

import random
import time
from typing import Any

import torch

from cairn.agents.backend import Request
from cairn.agents.backends.hf import HFBackend, HFConfig
from cairn.agents.config import SamplingConfig
from cairn.agents.models.policy import Policy
from cairn.benchmarks.outcome import Row, row
from cairn.benchmarks.train.utilisation import LARGE, TINY, build
from cairn.core.seeding import python_generator

SLOTS, PROMPT, REPLY = 64, 512, 128


class _NoEnd:
    """An encoder whose replies have no end id."""

    def ends(self, *, is_constrained: bool) -> frozenset[int]:
        """Return no ids."""
        return frozenset()


def rows(is_tiny: bool = False) -> list[Row]:
    """Return tokens per second; `is_tiny`: a tiny model on the CPU."""
    if not is_tiny and not torch.cuda.is_available():
        return [row("rollout: hf back end on a GPU, not measured: no CUDA device", None, "")]
    shape, slots, prompt, reply = (TINY, 4, 16, 8) if is_tiny else (LARGE, SLOTS, PROMPT, REPLY)
    device = "cpu" if is_tiny else "cuda"
    model = build(shape, recompute=False, device=device).eval()
    rate, seconds = sample(model, slots, prompt, reply)
    name = f"rollout: hf back end, {slots} slots, prompts of {prompt} tokens, replies of {reply}"
    out = [row(f"{name}, sampled", rate, "tokens/s"), row(f"{name}, whole", seconds, "s")]
    if device == "cuda":
        out.append(row(f"{name}, peak memory of the device", torch.cuda.max_memory_allocated() / 2**20, "MB"))
    return out


def sample(model: Any, slots: int, prompt: int, reply: int) -> tuple[float, float]:  # Any: transformers has no types
    """Return sampled tokens per second, and seconds, of one batch after a short warm-up."""
    policy = Policy(model=model, encoder=_NoEnd())  # type: ignore[arg-type]  # only `ends` is used
    _batch(policy, slots, prompt, 2)
    began = time.perf_counter()
    sampled = _batch(policy, slots, prompt, reply)
    seconds = time.perf_counter() - began
    return sampled / seconds, seconds


def _batch(policy: Policy, slots: int, prompt: int, reply: int) -> int:
    sampling = SamplingConfig(slots=slots, max_reply_tokens=reply, max_context=max(prompt + reply + 1, 64))
    backend = HFBackend(HFConfig(), policy, sampling)
    rng = python_generator("rollout on a GPU")
    for slot in range(slots):
        ids = tuple(rng.randrange(policy.model.config.vocab_size) for _ in range(prompt))
        backend.submit(slot, Request(prompt_ids=ids, extends=False, choices=None, rng=random.Random(slot)))
    left, sampled = slots, 0
    while left:
        for _, answer in backend.step():
            sampled += len(answer.ids)  # type: ignore[union-attr]  # no reply fails
            left -= 1
    return sampled
