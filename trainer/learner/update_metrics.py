"""Metrics of one update: sums over measured tokens, and the mismatch with sampled logprobs.

Each token counts once. `LearnerConfig.measure` determines which sequences are measured.

The mismatch only compares tokens for which sampling and training used equal weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from cairn.core.errors import CairnError, DivergedError
from cairn.core.table import Floats
from cairn.trainer.learner.batch import Batch
from cairn.trainer.learner.distributed import ProcessGroup
from cairn.trainer.learner.samples import Sample


class Mismatch:
    """Differences of sampled and trained logprobs: sums over tokens, and the worst token."""

    def __init__(self) -> None:
        self.count = 0
        self._absolute = self._k3 = 0.0
        self._worst = 0.0
        self._where: tuple[list[int], float, float] = ([], 0.0, 0.0)  # the worst token: ids up to it, logprobs

    def add(self, sampled_D: Tensor, trained_D: Tensor, context: Callable[[int], list[int]]) -> None:
        """Add tokens; `context` returns the ids up to the i-th of them, inclusive."""
        if not len(sampled_D):
            return
        change_D = (trained_D - sampled_D).double().clamp(-20, 20)
        self.count += len(change_D)
        self._absolute += float(change_D.abs().sum())
        self._k3 += float((torch.exp(change_D) - 1 - change_D).sum())
        worst = int(change_D.abs().argmax())
        if abs(float(change_D[worst])) > self._worst:
            self._worst = abs(float(change_D[worst]))
            self._where = context(worst), float(sampled_D[worst]), float(trained_D[worst])

    def gather(self, ranks: ProcessGroup) -> None:
        """Sum over the ranks; each rank keeps its own worst token."""
        count, self._absolute, self._k3 = ranks.sum([self.count, self._absolute, self._k3])
        self.count = int(count)
        (self._worst,) = ranks.max([self._worst])

    @property
    def mean(self) -> float:
        """Mean of |d|, the absolute difference of logprobs."""
        return self._absolute / max(self.count, 1)

    def metrics(self) -> dict[str, float]:
        """Return mean, maximum and k3 of the mismatch, and the number of tokens."""
        return {
            "mismatch/mean": self.mean,
            "mismatch/max": self._worst,
            "mismatch/k3": self._k3 / max(self.count, 1),
            "mismatch/tokens": float(self.count),
        }

    def check(self, bound: float, decode: Callable[[Sequence[int]], str]) -> None:
        """Check that the mean is within the bound.

        Raises:
            DivergedError: the mean is NaN.
            CairnError: the mean is above the bound; the message has this process's worst token.
        """
        if math.isnan(self.mean):
            raise DivergedError("the policy's log-probabilities are NaN")
        if self.mean <= bound:
            return
        ids, sampled, trained = self._where
        furthest = (
            f" Furthest off is token {ids[-1]} ({decode(ids[-1:])!r}), place {len(ids) - 1} of its sequence, after "
            f"{decode(ids[-20:-1])!r}: {sampled:.4f} when sampled, {trained:.4f} now."
        )
        raise CairnError(
            f"The trainer's logprobs are {self.mean:.3g} from those that sampling stored, on average over {self.count} "
            f"tokens; learner.max_mismatch is {bound:g}.{furthest if ids else ''} Compare temperature, precision and "
            "model of the back end with the trainer's."
        )


@dataclass
class StepSums:
    """Sums over the micro-batches of one optimiser step; tensors stay on the device."""

    tokens: int = 0  # measured decided tokens
    computed_tokens: int = 0
    tokens_unshared: int = 0  # tokens of the same sequences without sharing
    padding: int = 0  # attention queries without a token
    totals: dict[str, Tensor] = field(default_factory=dict)  # scalars, float64
    logprobs: list[tuple[Sequence[Sample], Tensor]] = field(default_factory=list)  # [D] of each micro-batch

    def count(self, batch: Batch) -> None:
        """Count the nodes, tokens and padding of a micro-batch."""
        self.computed_tokens += len(batch.ids_N)
        self.tokens_unshared += batch.tokens_unshared
        self.padding += batch.ragged.padding

    def add(self, tokens: int, values: Mapping[str, Tensor]) -> None:
        """Add one micro-batch's sums over its decided tokens.

        With 0 tokens, the values are ignored: another rank has them.
        """
        self.tokens += tokens
        for name, value in values.items():
            self.totals[name] = self.totals.get(name, 0.0) + (value if tokens else value.new_zeros(()))


@dataclass
class UpdateReport:
    """Sums over measured tokens, with or without a gradient; `means` returns the metrics."""

    totals: dict[str, float] = field(default_factory=dict)
    tokens: int = 0  # measured decided tokens; a token in two epochs counts twice
    steps: int = 0
    grad_norm: float = 0.0
    skipped: int = 0  # sequences without a gradient
    computed_tokens: int = 0
    tokens_unshared: int = 0  # tokens of the same sequences without sharing
    padding: int = 0  # attention queries without a token
    version: int | None = None  # of the weights before the update
    mismatch: Mismatch = field(default_factory=Mismatch)
    is_weights: Floats | None = None  # of all positions

    def take(self, sums: StepSums) -> None:
        """Add the sums of a step: one read from the device, and one more for logprobs to compare."""
        self.tokens += sums.tokens
        self.computed_tokens += sums.computed_tokens
        self.tokens_unshared += sums.tokens_unshared
        self.padding += sums.padding
        values = torch.stack(list(sums.totals.values())).tolist() if sums.totals else []
        for name, value in zip(sums.totals, values, strict=True):
            self.totals[name] = self.totals.get(name, 0.0) + value
        if sums.logprobs:
            everywhere = torch.cat([logprobs_D for _, logprobs_D in sums.logprobs]).cpu()
            self.compare([sample for samples, _ in sums.logprobs for sample in samples], everywhere)

    def compare(self, samples: Sequence[Sample], logprobs_D: Tensor) -> None:
        """Compare logprobs at the samples' positions, on the CPU, with stored ones from the same weights."""
        if not samples:
            return
        stops = np.cumsum([len(s.positions) for s in samples])
        old = np.concatenate([s.old_logprobs for s in samples])
        fresh = np.flatnonzero(np.concatenate([_fresh(s, self.version) for s in samples]))

        def context(i: int) -> list[int]:
            sample = int(np.searchsorted(stops, fresh[i], side="right"))
            place = samples[sample].positions[fresh[i] - stops[sample]]  # counted from the end
            return list(map(int, samples[sample].ids[: place + 1]))

        self.mismatch.add(torch.as_tensor(old[fresh]), logprobs_D[torch.as_tensor(fresh)], context)

    def gather(self, ranks: ProcessGroup) -> None:
        """Sum over the ranks; mismatch and importance weights are gathered elsewhere."""
        counts = [self.tokens, self.computed_tokens, self.tokens_unshared, self.padding]
        self.tokens, self.computed_tokens, self.tokens_unshared, self.padding = map(int, ranks.sum(counts))
        totals = ranks.sum(list(self.totals.values()))
        self.totals = dict(zip(self.totals, totals, strict=True))

    def importance_metrics(self, cap: float | None) -> dict[str, float]:
        """Return the tokens' mean importance weight and the share of weights at the cap, if any."""
        if self.is_weights is None or not len(self.is_weights):
            return {}
        is_capped = self.is_weights == cap
        return {"importance/mean": float(self.is_weights.mean()), "importance/capped": float(is_capped.mean())}

    def means(self) -> dict[str, float]:
        """Return the metrics.

        loss, entropy, clipped, kl, kl_reference: mean over the measured tokens, each counted once, also tokens with
        an advantage of 0, and without the weights of the objective. grad_norm: mean over optimiser steps. padding:
        share of attention queries without a token. The others are counts.
        """
        return {
            **{name: value / max(self.tokens, 1) for name, value in self.totals.items()},
            "grad_norm": self.grad_norm / max(self.steps, 1),
            "skipped_sequences": float(self.skipped),
            "computed_tokens": float(self.computed_tokens),
            "tokens_unshared": float(self.tokens_unshared),
            "padding": self.padding / max(self.computed_tokens + self.padding, 1),
        }


def _fresh(sample: Sample, version: int | None) -> np.ndarray:
    """Return [D] whether each position was sampled with these weights."""
    if version is None or sample.versions is None:
        return np.zeros(len(sample.positions), bool)
    return np.equal(sample.versions, version)
