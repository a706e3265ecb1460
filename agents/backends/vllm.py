"""Sampling with vLLM on this machine: own processes, continuous batching, prefix caching.

Requests carry ids; replies carry ids and logprobs. The slot's sequence is stored here and sent whole with each turn;
vLLM does not recompute the cached part. The engine keeps sampling while environments work and while the policy learns;
`step` collects the sampled tokens.

Logprobs are those of the sampling distribution: temperature applied, renormalised over the allowed ids; at temperature
0 they are 0. Each reply has its own seed, drawn from its request, so that it does not depend on other requests in
flight, except for rounding: other batch sizes change the order of summation, which can swap two ids of nearly equal
probability. Replies in progress at a weight update continue with the new weights, on keys and values recomputed with
them; the token at which that happens depends on timing.

Not supported: freeing memory while the learner works. Tested on CPUs with vLLM 0.32; not tested on GPUs or with
`tensor_parallel`.
"""

from __future__ import annotations

import functools
import queue
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field

from cairn.agents.backend import Reply, Request
from cairn.agents.backends._vllm_engine import Answer, VLLMEngine, check_installed
from cairn.agents.config import BackendConfig, SamplingConfig
from cairn.agents.constraint import flatten
from cairn.agents.generation import PartialReply
from cairn.agents.models.policy import Policy
from cairn.core.errors import EpisodeFailure, ModelFailure
from cairn.core.plugins import Plugin

_WAIT_S = 0.05  # longest wait of `step` for an output


class VLLMConfig(BackendConfig):
    """vLLM's memory and compute settings."""

    changes_no_reply = ("memory_share", "cache_gib", "restarts")

    memory_share: float = Field(
        0.4, gt=0, lt=1, description="Of the device's memory: weights, keys and values. The learner has the rest."
    )
    cache_gib: float | None = Field(
        None, gt=0, description="Memory of keys and values; None: what memory_share leaves beside the weights."
    )
    tensor_parallel: int = Field(1, ge=1, description="Devices that share the model.")
    enforce_eager: bool = Field(True, description="Compile and capture nothing: starts sooner.")
    dtype: Literal["policy", "float32", "bfloat16"] = Field("policy", description="Of weights and computation.")
    restarts: int = Field(3, ge=0, description="How often a dead engine is started again; then every reply fails.")


@dataclass
class _Work:
    """A reply in progress."""

    partial: PartialReply
    stream: Future[None] | None = None
    num_prompt: int | None = None  # ids sent; None once the number of cached ones has been counted


@dataclass
class _Slot:
    """One episode's sequence and the reply in progress."""

    tokens: list[int] = field(default_factory=list)
    work: _Work | None = None  # None: idle


class VLLMBackend:
    """`agents.backend.Backend` over a vLLM engine."""

    def __init__(self, config: VLLMConfig, policy: Policy, sampling: SamplingConfig) -> None:
        """Start the policy's engine, or share it.

        Raises:
            MissingExtraError: vLLM is not installed.
            ConfigError: vLLM does not support the model or these settings.
        """
        self.num_slots, self.version, self.tokens_processed = sampling.slots, policy.version, 0
        self._sampling, self._encoder = sampling, policy.encoder
        self._engine = VLLMEngine.of(policy, sampling, config)
        self._slots = [_Slot() for _ in range(sampling.slots)]
        self._inbox: queue.SimpleQueue[tuple[int, _Work, Answer]] = queue.SimpleQueue()
        self._done: list[tuple[int, Reply | EpisodeFailure]] = []
        self._is_closed = False

    @property
    def cache_tokens(self) -> int:
        """Capacity of the engine's cache in tokens."""
        return self._engine.cache_tokens

    def submit(self, slot: int, request: Request) -> None:
        """Request a reply in this slot; see `agents.backend.Backend`."""
        state = self._slots[slot]
        if state.work is not None:
            raise RuntimeError(f"slot {slot} is still working on a reply")
        state.tokens = [*(state.tokens if request.extends else ()), *request.prompt_ids]
        ends = self._encoder.ends(is_constrained=request.choices is not None)
        partial = PartialReply.begin(state.tokens, request, ends, self._sampling, self.version)
        state.work = _Work(partial)
        if partial.finish is not None:
            self._settle(slot, partial.reply())
        elif self._engine.revive():
            self._send(slot, state.work, request.rng.getrandbits(63))
        else:
            self._settle(slot, ModelFailure("vLLM's engine died more often than sampling.vllm.restarts allows"))

    def step(self) -> list[tuple[int, Reply | EpisodeFailure]]:
        """Collect the engine's outputs and return finished replies; wait briefly for one."""
        is_waiting = not self._done and any(slot.work is not None for slot in self._slots)
        self._take_in(_WAIT_S if is_waiting else 0.0)
        done, self._done = self._done, []
        return done

    def so_far(self, slot: int) -> Reply | None:
        """Return the collected part of the reply in progress; None: nothing yet."""
        work = self._slots[slot].work
        return work.partial.reply() if work is not None and work.partial.ids else None

    def abort(self, slot: int) -> None:
        """Discard the reply in progress."""
        work, self._slots[slot].work = self._slots[slot].work, None
        if work is not None and work.stream is not None:
            work.stream.cancel()
        self._done = [(i, reply) for i, reply in self._done if i != slot]

    def fork(self, source: int, target: int) -> None:
        """Copy the source's sequence to the target; the engine has it in its prefix cache."""
        of, to = self._slots[source], self._slots[target]
        if of.work is not None or to.work is not None:
            raise RuntimeError(f"slots {source} and {target} must be idle to be forked")
        to.tokens = list(of.tokens)

    def sync_weights(self, version: int) -> None:
        """Sample with the policy's current weights from now on, also in replies in progress."""
        self._engine.pause()
        self._take_in(0.0)  # outputs of the old weights
        self._engine.load_weights()
        self.version = version
        self._engine.resume()

    def close(self) -> None:
        """Discard all replies; the engine ends with the last back end that uses it."""
        if self._is_closed:
            return
        self._is_closed = True
        for slot in range(self.num_slots):
            self.abort(slot)
        self._engine.release()

    # -- between slots and engine -----------------------------------------------------------------------------------

    def _send(self, slot: int, work: _Work, seed: int) -> None:
        tell = functools.partial(self._heard, slot, work)
        work.num_prompt = len(work.partial.tokens)
        work.stream = self._engine.submit(list(work.partial.tokens), self._params(work.partial, seed), tell)

    def _heard(self, slot: int, work: _Work, answer: Answer) -> None:
        """Put an output into the inbox for `step`; runs in the engine's thread."""
        self._inbox.put((slot, work, answer))

    def _params(self, partial: PartialReply, seed: int) -> Any:  # Any: SamplingParams
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        from cairn.agents.models.vllm_choices import KEY

        chosen = None if partial.choices is None else [choice[len(partial.ids) :] for choice in partial.choices]
        return SamplingParams(
            temperature=self._sampling.temperature,
            seed=seed,
            max_tokens=partial.room,
            stop_token_ids=sorted(partial.end_ids),
            ignore_eos=True,  # stop_token_ids has it; a choice may only end at one of those
            logprobs=0,  # of the sampled id only
            flat_logprobs=True,
            detokenize=False,
            output_kind=RequestOutputKind.DELTA,
            extra_args=None if chosen is None else {KEY: flatten(chosen)},
        )

    def _take_in(self, wait_s: float) -> None:
        try:
            self._take(*self._inbox.get(timeout=wait_s) if wait_s else self._inbox.get_nowait())
            while True:
                self._take(*self._inbox.get_nowait())
        except queue.Empty:
            return

    def _take(self, slot: int, work: _Work, answer: Answer) -> None:
        if self._slots[slot].work is not work:  # it was aborted or is complete
            return
        if isinstance(answer, ModelFailure):
            self._settle(slot, answer)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            self._sampled(slot, work, answer)

    def _sampled(self, slot: int, work: _Work, answer: Answer) -> None:
        """Append the new ids to the partial reply; end it early once all remaining ids are forced."""
        partial, output = work.partial, answer.outputs[0]
        if work.num_prompt is not None:
            self.tokens_processed += work.num_prompt - max(answer.num_cached_tokens or 0, 0)
            work.num_prompt = None
        self.tokens_processed += len(output.token_ids)
        for place, token in enumerate(output.token_ids):
            allowed = partial.next_ids
            if allowed is not None and token not in allowed:
                raise RuntimeError(f"vLLM sampled id {token} where the constraint allows {allowed}")
            is_certain = self._sampling.temperature == 0.0 or (allowed is not None and len(allowed) == 1)
            partial.append(token, 0.0 if is_certain else output.logprobs.logprobs[place], self.version, allowed)
        if partial.is_decided:
            partial.force()
        if partial.finish is not None:
            self._settle(slot, partial.reply())
        elif answer.finished:
            self._settle(slot, ModelFailure(f"vLLM ended a reply early: {output.finish_reason}, {output.stop_reason}"))

    def _settle(self, slot: int, result: Reply | EpisodeFailure) -> None:
        """Store a result and free the slot; cancel its request."""
        work, self._slots[slot].work = self._slots[slot].work, None
        if work is not None and work.stream is not None:
            work.stream.cancel()
        self._done.append((slot, result))


BACKEND = Plugin(VLLMConfig, VLLMBackend, check_installed)
