"""Samples as tensors, their shared prefixes laid down once: the only records that hold tensors.

A state is a node of the samples' forest, and what the policy says there about the allowed ids is a prediction. Samples
that decide at one state under one constraint share a prediction, each with its own target, advantage and weight.

Letters: N nodes of a micro-batch, P predictions, C allowed ids of all predictions together, D decided places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cairn.agents.models.packed_attention import Ragged
from cairn.core.records import IntArray
from cairn.trainer.learner.prefix_tree import in_order, make_tree, shared_prefix
from cairn.trainer.learner.samples import Sample


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One micro-batch."""

    ids_N: Tensor
    ragged: Ragged
    states_P: Tensor  # index into N of the state that predicts
    choice_rows_C: Tensor  # prediction of each allowed id
    choice_ids_C: Tensor
    free_rows: Tensor  # predictions where the whole vocabulary was allowed
    predictions_D: Tensor  # index into P
    targets_D: Tensor
    old_logprobs_D: Tensor  # float32
    advantages_D: Tensor  # float32
    loss_weights_D: (
        Tensor  # float32; share of each place in the loss; all places of all micro-batches of a step sum to 1
    )
    tokens_unshared: int  # tokens of the samples, each by itself


def make_batch(samples: Sequence[Sample], weights: Sequence[np.ndarray], device: torch.device) -> Batch:
    """Lay samples down as a forest; `weights` has one array [D] a sample."""
    tree = make_tree([s.context for s in samples])
    states = np.concatenate([nodes[s.positions - 1] for s, nodes in zip(samples, tree.nodes, strict=True)])
    rows, allowed = _predictions(states, [choice for s in samples for choice in s.choices()])
    sizes = [len(ids) for _, ids in allowed]

    def tensor(arrays: Sequence[np.ndarray], kind: torch.dtype) -> Tensor:
        return torch.as_tensor(np.concatenate(arrays), dtype=kind, device=device)

    return Batch(
        ids_N=tensor([tree.ids_N], torch.long),
        ragged=Ragged.tree(tree.positions_N, device),
        states_P=tensor([np.array([state for state, _ in allowed])], torch.long),
        choice_rows_C=tensor([np.repeat(np.arange(len(sizes)), sizes)], torch.long),
        choice_ids_C=tensor([ids for _, ids in allowed], torch.long),
        free_rows=tensor([np.flatnonzero(np.array(sizes) == 0)], torch.long),
        predictions_D=tensor([np.array(rows)], torch.long),
        targets_D=tensor([s.ids[s.positions] for s in samples], torch.long),
        old_logprobs_D=tensor([s.old_logprobs for s in samples], torch.float32),
        advantages_D=tensor([s.advantages for s in samples], torch.float32),
        loss_weights_D=tensor(weights, torch.float32),
        tokens_unshared=sum(len(s.ids) for s in samples),
    )


def micro_batches(samples: Sequence[Sample], budget: int) -> Iterator[list[int]]:
    """Yield indices of samples in micro-batches of at most `budget` nodes; those that share prefixes go together.

    The cut between two samples makes both sides pay for what they share. A sample longer than the budget gets a
    micro-batch of its own.
    """
    contexts = [s.context for s in samples]
    chunk: list[int] = []
    num_nodes = 0
    for i in in_order(contexts):
        new = len(contexts[i]) - (shared_prefix(contexts[chunk[-1]], contexts[i]) if chunk else 0)
        if chunk and num_nodes + new > budget:
            yield chunk
            chunk, num_nodes, new = [], 0, len(contexts[i])
        chunk.append(i)
        num_nodes += new
    if chunk:
        yield chunk


def rank_micro_batches(samples: Sequence[Sample], budget: int, rank: int, world: int) -> list[list[int]]:
    """Return one rank's micro-batches, as `by_tokens` has them; every rank gets the same number.

    Each rank has one stretch of the samples in order, so that those that share prefixes meet, and about the same number
    of tokens. A rank with fewer micro-batches than another gets empty ones at the end.
    """
    shares = _split_by_prefix(samples, world)
    cuts = [
        [[share[i] for i in chunk] for chunk in micro_batches([samples[i] for i in share], budget)] for share in shares
    ]
    return cuts[rank] + [[] for _ in range(max(map(len, cuts)) - len(cuts[rank]))]


def _split_by_prefix(samples: Sequence[Sample], world: int) -> list[list[int]]:
    """Return `world` stretches of the samples in order, each with about the same number of nodes."""
    contexts = [s.context for s in samples]
    order = in_order(contexts)
    sizes = [
        len(contexts[i]) - (shared_prefix(contexts[before], contexts[i]) if before is not None else 0)
        for before, i in zip([None, *order], order, strict=False)
    ]
    middles = np.cumsum(sizes) - np.array(sizes) / 2
    ranks = np.minimum((middles * world / max(sum(sizes), 1)).astype(int), world - 1)
    return [[i for i, owner in zip(order, ranks.tolist(), strict=True) if owner == rank] for rank in range(world)]


def _predictions(states: IntArray, choices: Sequence[IntArray]) -> tuple[list[int], list[tuple[int, IntArray]]]:
    """Return the prediction of each place, and state and allowed ids of each prediction."""
    rows: list[int] = []
    known: dict[tuple[int, bytes], int] = {}
    predictions: list[tuple[int, IntArray]] = []
    for state, ids in zip(states.tolist(), choices, strict=True):
        row = known.setdefault((state, ids.tobytes()), len(known))
        if row == len(predictions):
            predictions.append((state, ids))
        rows.append(row)
    return rows, predictions
