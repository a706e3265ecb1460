"""Metrics of one update: sums over trained tokens, each counted once, and the mismatch with sampled logprobs.

The mismatch compares tokens that sampling and training computed with equal weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
    """Sums over tokens; the worst one is remembered."""

    def __init__(self) -> None:
        self.count = 0
        self._absolute = self._k3 = 0.0
        self._worst = 0.0
        self._where: tuple[list[int], float, float] = ([], 0.0, 0.0)  # ids up to it, sampled, trained

    def add(self, sampled_D: Tensor, trained_D: Tensor, context: Callable[[int], list[int]]) -> None:
        """Add tokens; `context` returns the ids up to the i-th of them, itself included."""
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
        """Add up what the ranks found; each remembers the worst token of its own."""
        count, self._absolute, self._k3 = ranks.sum([self.count, self._absolute, self._k3])
        self.count = int(count)
        (self._worst,) = ranks.max([self._worst])

    @property
    def mean(self) -> float:
        """Mean of |d|."""
        return self._absolute / max(self.count, 1)

    def metrics(self) -> dict[str, float]:
        """Return the three numbers, and of how many tokens."""
        return {
            "mismatch/mean": self.mean,
            "mismatch/max": self._worst,
            "mismatch/k3": self._k3 / max(self.count, 1),
            "mismatch/tokens": float(self.count),
        }

    def check(self, bound: float, decode: Callable[[Sequence[int]], str]) -> None:
        """See to it that the mean is within the bound.

        Raises:
            DivergedError: it is NaN.
            CairnError: it is above; with the token of this process that is furthest off.
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
class UpdateReport:
    """Sums over trained tokens, with a gradient or without; `means` gives one number each."""

    totals: dict[str, float] = field(default_factory=dict)
    tokens: int = 0  # trained tokens summed over; a token that is used in two epochs counts twice
    steps: int = 0
    grad_norm: float = 0.0
    skipped: int = 0  # sequences without a gradient
    computed_tokens: int = 0
    tokens_unshared: int = 0  # the same sequences' tokens, each sequence by itself
    padding: int = 0  # queries of attention that are no token
    version: int | None = None  # of the weights before the update
    mismatch: Mismatch = field(default_factory=Mismatch)
    is_weights: Floats | None = None  # of all places

    def compare(self, samples: Sequence[Sample], logprobs_D: Tensor) -> None:
        """Hold the logprobs of samples' places against those stored, where the weights were the same."""
        if not samples:
            return
        stops = np.cumsum([len(s.positions) for s in samples])
        old = np.concatenate([s.old_logprobs for s in samples])
        fresh = np.flatnonzero(np.concatenate([_fresh(s, self.version) for s in samples]))

        def context(i: int) -> list[int]:
            sample = int(np.searchsorted(stops, fresh[i], side="right"))
            place = samples[sample].positions[fresh[i] - stops[sample]]  # counted from the end
            return list(map(int, samples[sample].ids[: place + 1]))

        rows = torch.as_tensor(fresh, device=logprobs_D.device)
        self.mismatch.add(torch.as_tensor(old[fresh]), logprobs_D[rows].cpu(), context)

    def gather(self, ranks: ProcessGroup) -> None:
        """Add up what the ranks computed; mismatch and importance weights are gathered where they are found."""
        counts = [self.tokens, self.computed_tokens, self.tokens_unshared, self.padding]
        self.tokens, self.computed_tokens, self.tokens_unshared, self.padding = map(int, ranks.sum(counts))
        totals = ranks.sum(list(self.totals.values()))
        self.totals = dict(zip(self.totals, totals, strict=True))

    def count(self, batch: Batch) -> None:
        """Add what one micro-batch computes."""
        self.computed_tokens += len(batch.ids_N)
        self.tokens_unshared += batch.tokens_unshared
        self.padding += batch.ragged.padding

    def add(self, tokens: int, values: dict[str, float]) -> None:
        """Add one micro-batch's sums over its trained tokens; 0 tokens: the sums are another rank's."""
        self.tokens += tokens
        for name, value in values.items():
            self.totals[name] = self.totals.get(name, 0.0) + (value if tokens else 0.0)

    def importance_metrics(self, cap: float | None) -> dict[str, float]:
        """Return the tokens' mean importance weight and the share of weights that were cut to the cap, if any."""
        if self.is_weights is None or not len(self.is_weights):
            return {}
        is_capped = self.is_weights == cap
        return {"importance/mean": float(self.is_weights.mean()), "importance/capped": float(is_capped.mean())}

    def means(self) -> dict[str, float]:
        """Return the metrics.

        loss, entropy, clipped, kl, kl_reference: mean over all trained tokens, each counted once, whether its
        advantage is 0 or not, and without the weights of the objective. grad_norm: mean over optimiser steps.
        padding: share of attention's queries that are not a token. The others are counts.
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
    """Return [D] whether each place was sampled under these weights."""
    if version is None or sample.versions is None:
        return np.zeros(len(sample.positions), bool)
    return np.equal(sample.versions, version)
