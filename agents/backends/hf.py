"""Sampling with a transformers model in this process, by continuous batching.

Each slot has its own cache. Each forward pass processes, for every busy slot, a span of its pending tokens: a chunk of
a prompt, or the token just sampled together with all tokens that the constraint then forces. A slot whose span reaches
its last pending token samples its next token. So prompts, replies and forced tokens of all episodes share one pass, and
no episode waits for the end of another one's turn.

Logprobs are those of the sampling distribution: temperature applied, renormalised over the allowed ids. At temperature
0 the most probable allowed id is taken and logprobs are 0.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from cairn.agents.backend import Reply, Request
from cairn.agents.config import BackendConfig, SamplingConfig
from cairn.agents.generation import PartialReply
from cairn.agents.models.packed_attention import Ragged, SlotCache, hidden_states, logits
from cairn.agents.models.policy import Policy
from cairn.core.errors import DivergedError, EpisodeFailure
from cairn.core.plugins import Plugin

_SHORT = 8  # spans of up to this many tokens share a pass with slots about to sample


class HFConfig(BackendConfig):
    """Settings of the in-process back end."""

    chunk: int = Field(96, ge=1, description="Most tokens of one slot in one forward pass.")


@dataclass
class _Slot:
    """One episode's sequence and the reply in progress."""

    tokens: list[int] = field(default_factory=list)  # the whole sequence
    cached: int = 0  # number of its tokens in the cache
    work: tuple[Request, PartialReply] | None = None  # None: idle


class HFBackend:
    """`agents.backend.Backend` over a transformers model."""

    cache_tokens: int | None = None  # limited by slots only

    def __init__(self, config: HFConfig, policy: Policy, sampling: SamplingConfig) -> None:
        self.policy = policy
        self.config = sampling
        self._encoder = policy.encoder
        self.num_slots = sampling.slots
        self.version = policy.version
        self.tokens_processed = 0  # computed so far
        self._chunk = config.chunk
        self._cache = SlotCache(sampling.slots)
        self._slots = [_Slot() for _ in range(sampling.slots)]

    def sync_weights(self, version: int) -> None:
        """Sample with the policy's current weights from now on; the slots' caches are recomputed."""
        self.version = version
        for slot in self._slots:
            slot.cached = 0

    def submit(self, slot: int, request: Request) -> None:
        """Request a reply in this slot; see `agents.backend.Backend`."""
        state = self._slots[slot]
        if state.work is not None:
            raise RuntimeError(f"slot {slot} is still working on a reply")
        if request.extends:
            state.tokens.extend(request.prompt_ids)
        else:
            prompt = list(request.prompt_ids)
            state.cached = min(state.cached, _common_prefix(state.tokens, prompt), len(prompt) - 1)
            state.tokens = prompt
        ends = self._encoder.ends(is_constrained=request.choices is not None)
        state.work = request, PartialReply.begin(state.tokens, request, ends, self.config, self.version)

    def close(self) -> None:
        """Do nothing: only memory is held."""

    def so_far(self, slot: int) -> Reply | None:
        """Return the partial reply; None: no token has been sampled."""
        work = self._slots[slot].work
        return work[1].reply() if work is not None and work[1].ids else None

    def abort(self, slot: int) -> None:
        """Discard the reply in progress."""
        self._slots[slot].work = None

    @torch.inference_mode()
    def fork(self, source: int, target: int) -> None:
        """Copy the source's sequence and its cache to the target."""
        of, to = self._slots[source], self._slots[target]
        if of.work is not None or to.work is not None:
            raise RuntimeError(f"slots {source} and {target} must be idle to be forked")
        self._cache.copy(source, target, of.cached)
        to.tokens, to.cached = list(of.tokens), of.cached

    def step(self) -> list[tuple[int, Reply | EpisodeFailure]]:
        """Run one forward pass and return the replies that it finished."""
        done = self._finished()  # fully forced replies need no pass at all
        busy = self._next_batch()
        if not busy:
            return done
        stretches = [self._slots[i].tokens[self._slots[i].cached :][: self._chunk] for i in busy]
        states_ND = self._forward(busy, stretches)
        ends = np.cumsum([len(s) for s in stretches]) - 1
        drawing = []
        for row, i in enumerate(busy):
            slot = self._slots[i]
            slot.cached += len(stretches[row])
            if slot.cached == len(slot.tokens) and slot.work is not None:
                drawing.append((slot.work, int(ends[row])))
        if drawing:
            self._draw([work for work, _ in drawing], states_ND[[row for _, row in drawing]])
        return done + self._finished()

    def _next_batch(self) -> list[int]:
        """Return the slots of the next pass: those with many pending tokens first, by themselves.

        Attention is padded to the longest span of a pass, so one long prompt among many single tokens would make every
        slot as expensive as the prompt.
        """
        pending = {i: len(slot.tokens) - slot.cached for i, slot in enumerate(self._slots) if slot.work}
        return [i for i, count in pending.items() if count > _SHORT] or list(pending)

    @torch.inference_mode()
    def _forward(self, busy: list[int], stretches: list[list[int]]) -> Tensor:
        device = self.policy.device
        starts = [self._slots[i].cached for i in busy]
        lengths = [len(s) for s in stretches]
        ragged = Ragged.continuing(self._cache, busy, starts, lengths, device)
        ids_N = torch.tensor(list(itertools.chain.from_iterable(stretches)), device=device)
        self.tokens_processed += len(ids_N)
        return hidden_states(self.policy.model, ids_N, ragged)

    @torch.inference_mode()
    def _draw(self, works: list[tuple[Request, PartialReply]], states_SD: Tensor) -> None:
        """Sample one token for each reply and append the tokens that the constraint then forces."""
        logits_SV = logits(self.policy.model, states_SD)
        if logits_SV.isnan().any():
            raise DivergedError("the policy's logits are NaN")
        allowed = [partial.next_ids for _, partial in works]
        if any(ids is not None for ids in allowed):
            logits_SV = _mask(logits_SV, allowed)
        tokens, logprobs = self._sample(logits_SV, [request for request, _ in works])
        for (_, partial), token, logprob, ids in zip(works, tokens, logprobs, allowed, strict=True):
            partial.append(token, logprob, self.version, ids)
            partial.force()

    def _sample(self, logits_SV: Tensor, requests: list[Request]) -> tuple[list[int], list[float]]:
        if self.config.temperature == 0.0:
            return logits_SV.argmax(-1).tolist(), [0.0] * len(requests)
        draws = torch.tensor([request.rng.random() for request in requests], dtype=torch.float64)
        tokens_S, logprobs_S = draw(logits_SV / self.config.temperature, draws.to(logits_SV.device))
        return tokens_S.tolist(), logprobs_S.tolist()

    def _finished(self) -> list[tuple[int, Reply | EpisodeFailure]]:
        out: list[tuple[int, Reply | EpisodeFailure]] = []
        for i, slot in enumerate(self._slots):
            if slot.work is not None and slot.work[1].finish is not None:
                out.append((i, slot.work[1].reply()))
                slot.work = None
        return out


def draw(logits_SV: Tensor, draws_S: Tensor) -> tuple[Tensor, Tensor]:
    """Return one token per row and its logprob.

    The token is at the row's draw in [0, 1) of the cumulative distribution. Computed in float64 on the device of the
    logits, because copying rows of a large vocabulary is slow. A token of probability 0 is never drawn; if a parallel
    sum rounds so that it would be, the likeliest token is drawn instead.
    """
    logprobs_SV = torch.log_softmax(logits_SV, -1)
    cumulative_SV = logprobs_SV.double().exp().cumsum(-1)
    targets_S1 = draws_S[:, None] * cumulative_SV[:, -1:] * (1 - 1e-12)
    tokens_S1 = torch.searchsorted(cumulative_SV, targets_S1, right=True)
    is_possible = logprobs_SV.gather(-1, tokens_S1).isfinite()
    tokens_S1 = torch.where(is_possible, tokens_S1, logprobs_SV.argmax(-1, keepdim=True))
    return tokens_S1[:, 0], logprobs_SV.gather(-1, tokens_S1)[:, 0]


def _mask(logits_SV: Tensor, allowed: list[tuple[int, ...] | None]) -> Tensor:
    """Return the logits with minus infinity for every id that is not allowed."""
    out = torch.full_like(logits_SV, -torch.inf)
    for row, ids in enumerate(allowed):
        if ids is None:
            out[row] = logits_SV[row]
    rows = [row for row, ids in enumerate(allowed) for _ in ids or ()]
    columns = [i for ids in allowed for i in ids or ()]
    out[rows, columns] = logits_SV[rows, columns]
    return out


def _common_prefix(a: list[int], b: list[int]) -> int:
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))


BACKEND = Plugin(HFConfig, HFBackend)
