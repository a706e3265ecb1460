"""A policy small enough for tests, its distributions far from uniform, and a plain reference to hold it against."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from cairn.agents.models.policy import ModelConfig, Policy, load_policy
from cairn.agents.models.tokens import train_tokenizer

TEXTS = (
    "A note says: amber. There is a key and 6 doors.",
    "You have the key.",
    "The door opens.",
    "Nothing happens. Take the key, then open a door.",
    "take key",
    "wait",
    *(f"open {colour}" for colour in ("amber", "blue", "green", "red", "violet", "white")),
)


def policy(seed: int = 0) -> Policy:
    """Return a fresh policy of the smallest size; equal seeds give equal weights."""
    made = load_policy(ModelConfig(preset="qwen3-nano", vocab_size=400, max_positions=512), lambda: (TEXTS, ()), seed)
    return sharpened(made)


@cache
def shared() -> Policy:
    """Return one policy for all tests that leave its weights alone."""
    return policy()


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer for all tests that leave it alone."""
    return train_tokenizer(TEXTS, 400)


def sharpened(made: Policy) -> Policy:
    """Return the policy with larger weights: fresh ones give nearly equal probabilities, under which faults hide."""
    with torch.no_grad():
        for weight in made.model.parameters():
            if weight.dim() == 2:
                weight.mul_(5.0)
    made.model.eval()
    return made


def reference_logits(model: Any, rows: Sequence[Sequence[int]]) -> list[Tensor]:  # Any: a transformers model
    """Return float64 logits [T, V] of each sequence, padded and computed by plain transformers on the same weights."""
    settings = model.config.__class__(**model.config.to_dict())
    build: Any = AutoModelForCausalLM.from_config  # Any: transformers has no types
    plain = build(settings, attn_implementation="sdpa").double().eval()
    plain.load_state_dict({name: weight.double() for name, weight in model.state_dict().items()})
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    with torch.no_grad():
        out = plain(input_ids=ids, attention_mask=mask).logits
    return [out[i, : len(row)] for i, row in enumerate(rows)]
