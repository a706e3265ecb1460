"""Sampling with a transformers model in this process: continuous batching over slots, each with its own cache.

Every forward pass carries, for each slot with work, a stretch of its pending tokens: a chunk of a prompt, or the token
just sampled together with all tokens that the constraint then forces. Slots whose stretch reaches the end of what is
pending sample their next token. So prompts, replies and forced tokens of all episodes share one pass, and no episode
waits for another's turn to end.

Logprobs are those of the distribution sampled from: temperature applied, renormalised over the allowed ids. At
temperature 0 the most probable allowed id is taken and logprobs are 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from cairn.agents.backend import Finish, Reply, Request
from cairn.agents.constrain import next_ids, pack
from cairn.agents.models.policy import Policy
from cairn.agents.models.ragged import Ragged, SlotCache, hidden_states, logits
from cairn.core.config import Config
from cairn.core.errors import ModelFailure

_SHORT = 8  # a stretch of up to this many tokens goes with those that are about to sample


class HFConfig(Config):
    """How the in-process back end samples."""

    slots: int = Field(64, ge=1, description="Episodes in flight.")
    chunk: int = Field(96, ge=1, description="Most tokens of one slot in one forward pass.")
    temperature: float = Field(1.0, ge=0.0, description="0: the most probable token.")
    max_reply_tokens: int = Field(64, ge=1, description="A free reply is cut here; a constrained one ends by itself.")
    max_context: int = Field(4096, ge=64, description="Longest sequence of a slot, in tokens.")


@dataclass
class _Slot:
    """One episode's sequence and the reply that it is working on."""

    tokens: list[int] = field(default_factory=list)  # the whole sequence
    cached: int = 0  # how much of it the cache holds
    is_busy: bool = False
    request: Request | None = None
    version: int = 0  # of the weights that sampled the reply's first token
    choices: Sequence[tuple[int, ...]] | None = None  # those that agree with the reply so far
    reply: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    allowed: list[tuple[int, ...]] = field(default_factory=list)


class HFBackend:
    """`agents.backend.Backend` over a transformers model."""

    def __init__(self, policy: Policy, config: HFConfig) -> None:
        self.policy = policy
        self.config = config
        self.num_slots = config.slots
        self.version = 0
        self.num_tokens = 0  # computed so far
        self._cache = SlotCache(config.slots)
        self._slots = [_Slot() for _ in range(config.slots)]

    def update_weights(self, version: int) -> None:
        """Sample with the policy's present weights from now on; what the slots have cached is computed anew."""
        self.version = version
        for slot in self._slots:
            slot.cached = 0

    def submit(self, slot: int, request: Request) -> None:
        """Ask for a reply in this slot; see `agents.backend.Backend`."""
        state = self._slots[slot]
        if state.is_busy:
            raise RuntimeError(f"slot {slot} is still working on a reply")
        if request.extends:
            state.tokens.extend(request.prompt_ids)
        else:
            prompt = list(request.prompt_ids)
            state.cached = min(state.cached, _common_prefix(state.tokens, prompt), len(prompt) - 1)
            state.tokens = prompt
        state.is_busy, state.request, state.choices = True, request, request.choices
        state.reply, state.logprobs, state.allowed, state.version = [], [], [], self.version
        if request.begun is not None:
            self._go_on(state, request.begun)
        self._force(state)

    def so_far(self, slot: int) -> Reply | None:
        """Return what has been sampled of the reply under way; None: nothing has."""
        state = self._slots[slot]
        return self._reply(state, "abort") if state.is_busy and state.reply else None

    def abort(self, slot: int) -> None:
        """Give up the reply under way."""
        self._slots[slot].is_busy = False

    @torch.inference_mode()
    def fork(self, source: int, target: int) -> None:
        """Give the target the source's sequence, with what is cached of it."""
        of, to = self._slots[source], self._slots[target]
        if of.is_busy or to.is_busy:
            raise RuntimeError(f"slots {source} and {target} must be idle to be forked")
        self._cache.copy(source, target, of.cached)
        to.tokens, to.cached = list(of.tokens), of.cached

    def step(self) -> list[tuple[int, Reply | ModelFailure]]:
        """Run one forward pass and return the replies that it finished."""
        done = self._finished()  # fully forced replies need no pass at all
        busy = self._next_batch()
        if not busy:
            return done
        stretches = [self._slots[i].tokens[self._slots[i].cached :][: self.config.chunk] for i in busy]
        states_ND = self._forward(busy, stretches)
        ends = np.cumsum([len(s) for s in stretches]) - 1
        drawing = []
        for row, i in enumerate(busy):
            slot = self._slots[i]
            slot.cached += len(stretches[row])
            if slot.cached == len(slot.tokens):
                drawing.append((slot, int(ends[row])))
        if drawing:
            self._draw([slot for slot, _ in drawing], states_ND[[row for _, row in drawing]])
        return done + self._finished()

    def _next_batch(self) -> list[int]:
        """Return the slots of the next pass: those with much to catch up on first, by themselves.

        Attention is padded to the longest stretch of a pass, so one long prompt among many single tokens would make
        every slot as dear as the prompt.
        """
        pending = {i: len(slot.tokens) - slot.cached for i, slot in enumerate(self._slots) if slot.is_busy}
        return [i for i, count in pending.items() if count > _SHORT] or list(pending)

    @torch.inference_mode()
    def _forward(self, busy: list[int], stretches: list[list[int]]) -> Tensor:
        device = self.policy.device
        starts = [self._slots[i].cached for i in busy]
        lengths = [len(s) for s in stretches]
        ragged = Ragged.continuing(self._cache, busy, starts, lengths, device)
        ids_N = torch.tensor(list(itertools.chain.from_iterable(stretches)), device=device)
        self.num_tokens += len(ids_N)
        return hidden_states(self.policy.model, ids_N, ragged)

    @torch.inference_mode()
    def _draw(self, slots: list[_Slot], states_SD: Tensor) -> None:
        """Sample one token for each slot and append what the constraint then forces."""
        logits_SV = logits(self.policy.model, states_SD)
        allowed = [_next_ids(slot) for slot in slots]
        if any(ids is not None for ids in allowed):
            logits_SV = _mask(logits_SV, allowed)
        tokens, logprobs = self._sample(logits_SV, slots)
        for slot, token, logprob, ids in zip(slots, tokens, logprobs, allowed, strict=True):
            self._append(slot, token, logprob, ids)
            self._force(slot)

    def _sample(self, logits_SV: Tensor, slots: list[_Slot]) -> tuple[list[int], list[float]]:
        if self.config.temperature == 0.0:
            return logits_SV.argmax(-1).tolist(), [0.0] * len(slots)
        logprobs_SV = torch.log_softmax(logits_SV / self.config.temperature, -1)
        draws = torch.tensor([slot.request.rng.random() for slot in slots if slot.request], dtype=torch.float64)
        # Inverse of the cumulative distribution, in float64 on the CPU: an id of probability 0 cannot come out.
        cumulative = logprobs_SV.double().exp().cpu().cumsum(-1)
        targets = draws[:, None] * cumulative[:, -1:] * (1 - 1e-12)
        tokens_S = torch.searchsorted(cumulative, targets, right=True)
        chosen = logprobs_SV.cpu().gather(-1, tokens_S)[:, 0]
        return tokens_S[:, 0].tolist(), chosen.tolist()

    def _append(self, slot: _Slot, token: int, logprob: float, allowed: tuple[int, ...] | None) -> None:
        place = len(slot.reply)
        if place == 0:
            slot.version = self.version
        slot.reply.append(token)
        slot.tokens.append(token)
        slot.logprobs.append(logprob)
        if slot.choices is not None:
            slot.allowed.append(allowed or (token,))
            slot.choices = [choice for choice in slot.choices if choice[place] == token]

    def _force(self, slot: _Slot) -> None:
        """Append tokens for as long as the constraint leaves one choice."""
        while slot.choices is not None and not self._is_complete(slot):
            ids = _next_ids(slot)
            if ids is None or len(ids) != 1:
                return
            self._append(slot, ids[0], 0.0, ids)

    def _is_complete(self, slot: _Slot) -> bool:
        if slot.reply and slot.reply[-1] == self.policy.encoder.end_id:
            return True
        return len(slot.tokens) >= self.config.max_context or (
            slot.choices is None and len(slot.reply) >= self.config.max_reply_tokens
        )

    def _go_on(self, slot: _Slot, begun: Reply) -> None:
        """Take up a reply where it was left."""
        for place, (token, logprob) in enumerate(zip(begun.ids.tolist(), begun.logprobs.tolist(), strict=True)):
            allowed = None
            if begun.constraint is not None:
                first, end = begun.constraint.offsets[place : place + 2]
                allowed = tuple(begun.constraint.ids[first:end].tolist())
            self._append(slot, token, logprob, allowed)
        slot.version = begun.version

    def _finished(self) -> list[tuple[int, Reply | ModelFailure]]:
        out: list[tuple[int, Reply | ModelFailure]] = []
        for i, slot in enumerate(self._slots):
            if slot.is_busy and self._is_complete(slot):
                slot.is_busy = False
                is_full = len(slot.tokens) >= self.config.max_context
                is_closed = bool(slot.reply) and slot.reply[-1] == self.policy.encoder.end_id
                out.append((i, self._reply(slot, "context" if is_full else "end" if is_closed else "length")))
        return out

    def _reply(self, slot: _Slot, finish: Finish) -> Reply:
        return Reply(
            ids=np.array(slot.reply, np.int32),
            logprobs=np.array(slot.logprobs, np.float32),
            constraint=None if slot.choices is None else pack(slot.allowed),
            finish=finish,
            version=slot.version,
        )


def _next_ids(slot: _Slot) -> tuple[int, ...] | None:
    """Return the ids that may come next, sorted; None where all may."""
    if slot.choices is None:
        return None
    return next_ids(slot.choices, len(slot.reply))


def _mask(logits_SV: Tensor, allowed: list[tuple[int, ...] | None]) -> Tensor:
    """Return the logits with minus infinity wherever an id is not allowed."""
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


BACKEND = HFBackend
