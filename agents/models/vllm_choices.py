"""Constrains vLLM's sampling: only ids that continue one of a request's choices are allowed.

It runs in vLLM's workers, both in Cairn's engine and in a server: ``--logits-processors PATH`` with `PATH`, and
``VLLM_USE_V2_MODEL_RUNNER=0`` in the environment, since it uses the interface of vLLM's first model runner, which every
device supports. A request passes its choices in ``SamplingParams.extra_args`` (``vllm_xargs`` of a server) under the
name `KEY`, flattened by `agents.constraint.flatten`; each choice ends in one of the request's stop ids.

With ``logprobs_mode="processed_logprobs"``, logprobs are renormalised over the allowed ids. These ids are not reported;
the sender computes them from the choices.
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
    """Applies the constraint of each request in a batch that has one."""

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:  # Any: as above
        """Reject choices that no reply could end with.

        Raises:
            ValueError: the choices are malformed, or one does not end in a stop id.
        """
        stops = set(sampling_params.stop_token_ids or ())
        for choice in _choices(sampling_params) or ():
            if choice[-1] not in stops or stops.intersection(choice[:-1]):
                raise ValueError(f"{KEY}: expected a stop id ({sorted(stops)}) at the end of {choice}, and only there")

    def is_argmax_invariant(self) -> bool:
        """Return False: the most probable id may be excluded."""
        return False

    def new_req_logits_processor(self, params: Any) -> _Allow | None:  # Any: as above
        """Return the processor of a request's logits; None: unconstrained."""
        choices = _choices(params)
        return None if choices is None else _Allow(choices)


class _Allow:
    """One request's constraint.

    It compares its position with the reply at each call.
    """

    def __init__(self, choices: Sequence[tuple[int, ...]]) -> None:
        self._choices = choices  # choices that begin with the reply so far
        self._place = 0

    def __call__(self, reply: Sequence[int], logits_V: Tensor) -> Tensor:
        """Return the logits with minus infinity for every id that is not allowed next."""
        while self._place < len(reply):
            self._choices = [choice for choice in self._choices if choice[self._place] == reply[self._place]]
            self._place += 1
        ids_A = torch.tensor(next_ids(self._choices, self._place), device=logits_V.device)
        return torch.full_like(logits_V, -torch.inf).index_copy_(0, ids_A, logits_V[ids_A])


def _choices(params: Any) -> list[tuple[int, ...]] | None:  # Any: vLLM's SamplingParams
    flat = (params.extra_args or {}).get(KEY)
    return None if flat is None else unflatten(flat)
