"""vLLM's part of a constraint: only ids that go on with one of the choices that a request brings can be sampled.

It runs in vLLM's workers, ours and a server's alike: ``--logits-processors PATH`` with `PATH`, and
``VLLM_USE_V2_MODEL_RUNNER=0`` in the environment, since it speaks to vLLM's first model runner, which is there on every
device. A request brings its choices as ``SamplingParams.extra_args`` (``vllm_xargs`` of a server) of the name `KEY`,
flattened by `agents.constraint.flatten`, each closed by one of its stop ids.

Logprobs are then renormalised over the ids that were let through, with ``logprobs_mode="processed_logprobs"``. Which
ids these were is not reported: whoever sent the choices knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from vllm.v1.sample.logits_processor import AdapterLogitsProcessor

from cairn.agents.constraint import next_ids, unflatten

PATH = "cairn.agents.models.vllm_choices:ChoicesProcessor"
KEY = "cairn_choices"


class ChoicesProcessor(AdapterLogitsProcessor):  # type: ignore[misc]  # vLLM is not installed where types are checked
    """The constraint of each request in a batch that has one."""

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:  # Any: as above
        """Refuse choices under which no reply could end.

        Raises:
            ValueError: they are malformed, or one is not closed by a stop id.
        """
        stops = set(sampling_params.stop_token_ids or ())
        for choice in _choices(sampling_params) or ():
            if choice[-1] not in stops or stops.intersection(choice[:-1]):
                raise ValueError(f"{KEY}: expected a stop id ({sorted(stops)}) at the end of {choice}, and only there")

    def is_argmax_invariant(self) -> bool:
        """It may rule out the most probable id."""
        return False

    def new_req_logits_processor(self, params: Any) -> _Allow | None:  # Any: as above
        """Return what is applied to a request's logits at each place; None: nothing."""
        choices = _choices(params)
        return None if choices is None else _Allow(choices)


class _Allow:
    """One request's constraint. It reads how far the reply is each time: a preempted request comes anew."""

    def __init__(self, choices: Sequence[tuple[int, ...]]) -> None:
        self._choices = choices  # those that agree with the reply so far
        self._place = 0

    def __call__(self, reply: Sequence[int], logits_V: Tensor) -> Tensor:
        """Return the logits with minus infinity wherever an id may not come next."""
        while self._place < len(reply):
            self._choices = [choice for choice in self._choices if choice[self._place] == reply[self._place]]
            self._place += 1
        ids_A = torch.tensor(next_ids(self._choices, self._place), device=logits_V.device)
        return torch.full_like(logits_V, -torch.inf).index_copy_(0, ids_A, logits_V[ids_A])


def _choices(params: Any) -> list[tuple[int, ...]] | None:  # Any: vLLM's SamplingParams
    flat = (params.extra_args or {}).get(KEY)
    return None if flat is None else unflatten(flat)
