"""Samples as tensors, laid end to end: the only records that hold tensors.

Letters: N tokens of a micro-batch, D decided places, C allowed ids of all places together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cairn.agents.models.ragged import Ragged
from cairn.trainer.samples import Sample


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One micro-batch."""

    ids_N: Tensor
    ragged: Ragged
    states_D: Tensor  # index into N of the state that predicts each decided token
    targets_D: Tensor
    old_logprobs_D: Tensor  # float32
    advantages_D: Tensor  # float32
    weights_D: Tensor  # float32; share of each place in the loss; all places of all micro-batches of a step sum to 1
    choice_rows_C: Tensor  # place of each allowed id
    choice_ids_C: Tensor
    free_rows: Tensor  # places where the whole vocabulary was allowed


def make_batch(samples: Sequence[Sample], weights: Sequence[np.ndarray], device: torch.device) -> Batch:
    """Lay samples end to end; `weights` has one array [D] a sample."""
    lengths = [len(s.ids) for s in samples]
    starts = np.cumsum([0, *lengths[:-1]])
    places = np.concatenate([s.places + start for s, start in zip(samples, starts, strict=True)])
    ids = np.concatenate([s.ids for s in samples])
    sizes = np.concatenate([np.diff(s.choice_offsets) for s in samples])

    def tensor(array: np.ndarray, kind: torch.dtype) -> Tensor:
        return torch.as_tensor(array, dtype=kind, device=device)

    return Batch(
        ids_N=tensor(ids, torch.long),
        ragged=Ragged.of(lengths, device),
        states_D=tensor(places - 1, torch.long),
        targets_D=tensor(ids[places], torch.long),
        old_logprobs_D=tensor(np.concatenate([s.old_logprobs for s in samples]), torch.float32),
        advantages_D=tensor(np.concatenate([s.advantages for s in samples]), torch.float32),
        weights_D=tensor(np.concatenate(list(weights)), torch.float32),
        choice_rows_C=tensor(np.repeat(np.arange(len(sizes)), sizes), torch.long),
        choice_ids_C=tensor(np.concatenate([s.choice_ids for s in samples]), torch.long),
        free_rows=tensor(np.flatnonzero(sizes == 0), torch.long),
    )


def by_tokens(samples: Sequence[Sample], budget: int) -> Iterator[list[int]]:
    """Yield indices of samples in micro-batches of like length; padded to its longest, each holds at most `budget`.

    A sample longer than the budget gets a micro-batch of its own.
    """
    order = sorted(range(len(samples)), key=lambda i: len(samples[i].ids))
    chunk: list[int] = []
    for i in order:
        if chunk and (len(chunk) + 1) * len(samples[i].ids) > budget:
            yield chunk
            chunk = []
        chunk.append(i)
    if chunk:
        yield chunk
