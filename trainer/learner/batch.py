"""Samples as tensors, with shared prefixes stored once: the only records that hold tensors.

A state is a node of the samples' forest. A prediction is the policy's distribution over the allowed ids at a state.
Samples with a decision at the same state under the same constraint share a prediction, each with its own target,
advantage and weight.

Letters: N nodes of a micro-batch, P predictions, C allowed ids of all predictions together, D decided positions, one
sequence after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cairn.agents.models.packed_attention import Ragged
from cairn.core.records import IntArray
from cairn.trainer.learner.prefix_tree import in_order, make_tree, shared_prefix, without_sharing
from cairn.trainer.learner.samples import Sample

_MAX_NODES = 0.9  # share of the samples' tokens up to which a forest shares prefixes


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One micro-batch."""

    ids_N: Tensor
    ragged: Ragged
    states_P: Tensor  # index into N of the predicting state
    choice_rows_C: Tensor  # prediction of each allowed id
    choice_ids_C: Tensor
    free_rows: Tensor  # predictions where the whole vocabulary was allowed
    predictions_D: Tensor  # index into P
    targets_D: Tensor
    old_logprobs_D: Tensor  # float32
    sampled_logprobs_D: Tensor  # float32
    advantages_D: Tensor  # float32
    sequences_D: Tensor  # sequence of each position, from 0
    turns_D: Tensor  # turn of each position, from 0 through all sequences
    groups_D: Tensor  # group of each position's episode, from 0
    loss_weights_D: (
        Tensor  # float32; share of each position in the loss; the shares of all micro-batches of a step sum to 1
    )
    tokens_unshared: int  # tokens of the samples without sharing


def make_batch(samples: Sequence[Sample], weights: Sequence[np.ndarray], device: torch.device) -> Batch:
    """Return samples as a forest; `weights` has one array [D] per sample.

    Prefixes are shared where that saves a tenth of the tokens: attention over plain sequences is cheaper per token.
    """
    contexts = [s.context for s in samples]
    tree = make_tree(contexts)
    if not _is_worth_sharing(len(tree.ids_N), sum(map(len, contexts))):
        tree = without_sharing(contexts)
    states = np.concatenate([nodes[s.positions - 1] for s, nodes in zip(samples, tree.nodes, strict=True)])
    rows, allowed = _predictions(states, [ids for s in samples for ids in s.allowed.split()])
    sizes = [len(ids) for _, ids in allowed]
    sequences = np.repeat(np.arange(len(samples)), [len(s.positions) for s in samples])
    groups = np.unique(np.array([s.group for s in samples]), return_inverse=True)[1]
    turns = np.concatenate([s.turns for s in samples])
    first_rows = np.append(True, (np.diff(sequences) != 0) | (np.diff(turns) != 0))  # of turns

    def tensor(arrays: Sequence[np.ndarray], kind: torch.dtype) -> Tensor:
        made = torch.as_tensor(np.concatenate(arrays), dtype=kind)
        return made.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else made.to(device)

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
        sampled_logprobs_D=tensor(
            [s.old_logprobs if s.sampled_logprobs is None else s.sampled_logprobs for s in samples], torch.float32
        ),
        advantages_D=tensor([s.advantages for s in samples], torch.float32),
        sequences_D=tensor([sequences], torch.long),
        turns_D=tensor([np.cumsum(first_rows) - 1], torch.long),
        groups_D=tensor([groups[sequences]], torch.long),
        loss_weights_D=tensor(weights, torch.float32),
        tokens_unshared=sum(len(s.ids) for s in samples),
    )


def micro_batches(samples: Sequence[Sample], budget: int) -> Iterator[list[int]]:
    """Yield indices of samples in micro-batches for which `make_batch` computes at most `budget` tokens.

    Samples with shared prefixes are neighbours. A cut between two samples computes their shared prefix twice. A sample
    longer than the budget gets its own micro-batch.
    """
    contexts = [s.context for s in samples]
    chunk: list[int] = []
    num_nodes = num_tokens = 0
    for i in in_order(contexts):
        length = len(contexts[i])
        new = length - (shared_prefix(contexts[chunk[-1]], contexts[i]) if chunk else 0)
        if chunk and _num_computed(num_nodes + new, num_tokens + length) > budget:
            yield chunk
            chunk, num_nodes, num_tokens, new = [], 0, 0, length
        chunk.append(i)
        num_nodes, num_tokens = num_nodes + new, num_tokens + length
    if chunk:
        yield chunk


def _is_worth_sharing(num_nodes: int, num_tokens: int) -> bool:
    """Return whether a forest of `num_nodes` is better than plain sequences with `num_tokens` in all."""
    return num_nodes <= _MAX_NODES * num_tokens


def _num_computed(num_nodes: int, num_tokens: int) -> int:
    return num_nodes if _is_worth_sharing(num_nodes, num_tokens) else num_tokens


def rank_micro_batches(samples: Sequence[Sample], budget: int, rank: int, world: int) -> list[list[int]]:
    """Return one rank's micro-batches, cut as by `micro_batches`; all ranks get the same number.

    Each rank gets a contiguous range of the sorted samples, so that samples with shared prefixes stay together, with
    about the same number of tokens. A rank with fewer micro-batches than another gets empty ones at the end.
    """
    shares = _split_by_prefix(samples, world)
    cuts = [
        [[share[i] for i in chunk] for chunk in micro_batches([samples[i] for i in share], budget)] for share in shares
    ]
    return cuts[rank] + [[] for _ in range(max(map(len, cuts)) - len(cuts[rank]))]


def _split_by_prefix(samples: Sequence[Sample], world: int) -> list[list[int]]:
    """Return `world` contiguous ranges of the sorted samples, each with about the same nodes."""
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
    """Return the prediction of each position, and each prediction's state and allowed ids."""
    rows: list[int] = []
    known: dict[tuple[int, bytes], int] = {}
    predictions: list[tuple[int, IntArray]] = []
    for state, ids in zip(states.tolist(), choices, strict=True):
        row = known.setdefault((state, ids.tobytes()), len(known))
        if row == len(predictions):
            predictions.append((state, ids))
        rows.append(row)
    return rows, predictions
