"""One optimiser step on sequences, as a tree or as separate rows, with its cost.

Rows are the layout of training without shared prefixes: concatenated sequences of similar length, in which each
sequence computes all of its tokens.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from cairn.agents.models.packed_attention import Ragged
from cairn.agents.models.policy import Policy, load_pretrained
from cairn.benchmarks.process import peak_memory_mb
from cairn.trainer.learner.batch import Batch, make_batch, micro_batches
from cairn.trainer.learner.learner import LearnerConfig, logprobs_and_entropy, loss_weights
from cairn.trainer.learner.optimizers import PolicyOptimizer
from cairn.trainer.learner.samples import Sample
from cairn.trainer.losses.clip import clipped


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The measurements of a step."""

    sequences: int
    tokens: int  # computed
    padding: float  # share of attention queries without a token
    seconds: float  # of the processor, median
    megabytes: float  # peak memory during the first step, above that before it
    grad_norm: float  # of the first step


def measure(folder: str, samples: Sequence[Sample], is_tree: bool, times: int) -> Measured:
    """Measure steps with the policy in `folder`; run it in a separate process."""
    torch.set_num_threads(1)
    policy = load_pretrained(folder)
    policy.model.train()
    optimizer = PolicyOptimizer(policy.model, LearnerConfig().optimizer)
    spent, found = [], []
    for _ in range(times):
        memory, began = peak_memory_mb(), time.process_time()
        step = _step(policy, samples, is_tree, optimizer)
        spent.append(time.process_time() - began)
        found.append((*step, peak_memory_mb() - memory))
    tokens, padding, grad_norm, megabytes = found[0]
    return Measured(
        sequences=len(samples),
        tokens=tokens,
        padding=padding / (padding + tokens),
        seconds=statistics.median(spent),
        megabytes=megabytes,
        grad_norm=grad_norm,
    )


def _step(
    policy: Policy, samples: Sequence[Sample], is_tree: bool, optimizer: PolicyOptimizer
) -> tuple[int, int, float]:
    """Make a step, and return computed tokens, padding and the gradient's norm."""
    weights = loss_weights(samples, "token")
    budget = LearnerConfig().micro_batch_tokens
    cut, make = (micro_batches, make_batch) if is_tree else (by_length, make_rows)
    tokens = padding = 0
    for chunk in cut(samples, budget):
        batch = make([samples[i] for i in chunk], [weights[i] for i in chunk], policy.device)
        tokens, padding = tokens + len(batch.ids_N), padding + batch.ragged.padding
        logprobs_D, _ = logprobs_and_entropy(policy, batch, 1.0)
        loss_D, _ = clipped((logprobs_D - logprobs_D.detach()).exp(), batch.advantages_D, low=0.2, high=0.2)
        torch.autograd.backward((batch.loss_weights_D * loss_D).sum())
    return tokens, padding, float(optimizer.step(1.0, max_norm=1.0))


def make_rows(samples: Sequence[Sample], weights: Sequence[np.ndarray], device: torch.device) -> Batch:
    """Return a batch of concatenated samples without sharing."""
    lengths = [len(s.ids) for s in samples]
    firsts = np.cumsum([0, *lengths[:-1]])
    places = np.concatenate([s.positions + first for s, first in zip(samples, firsts, strict=True)])
    ids = np.concatenate([s.ids for s in samples])
    old = np.concatenate([s.old_logprobs for s in samples])
    sequences = np.repeat(np.arange(len(samples)), [len(s.positions) for s in samples])
    sizes = np.concatenate([s.allowed.sizes for s in samples])

    def tensor(array: np.ndarray, kind: torch.dtype = torch.long) -> torch.Tensor:
        return torch.as_tensor(array, dtype=kind, device=device)

    return Batch(
        ids_N=tensor(ids),
        ragged=Ragged.of(lengths, device),
        states_P=tensor(places - 1),
        choice_rows_C=tensor(np.repeat(np.arange(len(sizes)), sizes)),
        choice_ids_C=tensor(np.concatenate([s.allowed.ids for s in samples])),
        free_rows=tensor(np.flatnonzero(sizes == 0)),
        predictions_D=tensor(np.arange(len(places))),
        targets_D=tensor(ids[places]),
        old_logprobs_D=tensor(old, torch.float32),
        sampled_logprobs_D=tensor(old, torch.float32),
        advantages_D=tensor(np.concatenate([s.advantages for s in samples]), torch.float32),
        sequences_D=tensor(sequences),
        turns_D=tensor(sequences),
        groups_D=tensor(sequences),
        loss_weights_D=tensor(np.concatenate(list(weights)), torch.float32),
        tokens_unshared=len(ids),
    )


def by_length(samples: Sequence[Sample], budget: int) -> Iterator[list[int]]:
    """Yield indices of samples of similar length, with at most `budget` tokens in total."""
    chunk: list[int] = []
    num_tokens = 0
    for i in sorted(range(len(samples)), key=lambda i: len(samples[i].ids)):
        if chunk and num_tokens + len(samples[i].ids) > budget:
            yield chunk
            chunk, num_tokens = [], 0
        chunk.append(i)
        num_tokens += len(samples[i].ids)
    if chunk:
        yield chunk
