"""The two samplers under comparison, with timing."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from cairn.agents.backend import Reply, Request
from cairn.agents.backends.hf import HFBackend, HFConfig
from cairn.agents.config import SamplingConfig
from cairn.agents.context.base import Prompt
from cairn.agents.models.policy import Policy
from cairn.benchmarks.process import peak_memory_mb
from cairn.benchmarks.rollout.episodes import whole


@dataclass(frozen=True)
class Timed:
    """The measurements of a sampler."""

    seconds: float
    sampled: int  # tokens
    computed: int  # tokens processed by the model, including padding
    peak_mb: float  # peak memory of the process

    @property
    def rate(self) -> float:
        """Sampled tokens per second."""
        return self.sampled / self.seconds


def by_backend(policy: Policy, episodes: Sequence[Sequence[Prompt]], reply_tokens: int) -> Timed:
    """Sample with the hf back end: one slot per episode, asynchronously."""
    longest = max(sum(len(prompt.ids) + reply_tokens for prompt in asked) for asked in episodes)
    config = SamplingConfig(slots=len(episodes), max_reply_tokens=reply_tokens, max_context=max(longest + 1, 64))
    backend = HFBackend(HFConfig(), policy, config)
    turns = [0] * len(episodes)
    sampled = left = 0
    start = time.perf_counter()
    for slot, asked in enumerate(episodes):
        backend.submit(slot, _request(asked[0], slot))
        left += len(asked)
    while left:
        for slot, reply in backend.step():
            assert isinstance(reply, Reply)
            sampled += len(reply.ids)
            turns[slot] += 1
            left -= 1
            if turns[slot] < len(episodes[slot]):
                backend.submit(slot, _request(episodes[slot][turns[slot]], slot))
    return Timed(time.perf_counter() - start, sampled, backend.tokens_processed, peak_memory_mb())


def _request(prompt: Prompt, seed: int) -> Request:
    return Request(prompt_ids=prompt.ids, extends=prompt.extends, choices=None, rng=random.Random(seed))


def by_generate(policy: Policy, episodes: Sequence[Sequence[Prompt]], reply_tokens: int) -> Timed:
    """Sample with transformers' generate: padded full prompts of all unfinished episodes."""
    model = _plain(policy)
    replies: list[list[list[int]]] = [[] for _ in episodes]
    sampled = computed = 0
    start = time.perf_counter()
    for turn in range(max(map(len, episodes))):
        live = [i for i, asked in enumerate(episodes) if len(asked) > turn]
        rows = [whole(episodes[i], replies[i]) for i in live]
        longest = max(map(len, rows))
        ids = torch.tensor([[0] * (longest - len(row)) + row for row in rows], device=policy.device)
        mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=policy.device)
        out = model.generate(
            input_ids=ids, attention_mask=mask, do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
            max_new_tokens=reply_tokens, min_new_tokens=reply_tokens, pad_token_id=0,
        )  # fmt: skip
        for i, row in zip(live, out[:, longest:].tolist(), strict=True):
            replies[i].append(row)
        sampled += len(live) * reply_tokens
        computed += len(live) * (longest + reply_tokens - 1)
    return Timed(time.perf_counter() - start, sampled, computed, peak_memory_mb())


def _plain(policy: Policy) -> Any:  # Any: transformers selects the class
    """Return a model with the same weights and transformers' own attention."""
    settings = policy.model.config.__class__(**policy.model.config.to_dict())
    build: Any = AutoModelForCausalLM.from_config  # Any: transformers has no types
    model = build(settings, attn_implementation="sdpa").eval()
    model.load_state_dict(policy.model.state_dict())
    return model.to(policy.device, policy.model.dtype)
