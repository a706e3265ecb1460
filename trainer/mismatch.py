"""How far the trainer's logprobs are from those that sampling stored, for tokens that both computed with equal weights.

With d = trained - sampled over those tokens: mismatch/mean is mean |d|, mismatch/max is max |d|, and mismatch/k3 is
mean(exp(d) - 1 - d), an estimate of the divergence of the sampling distribution from the trainer's that is never
negative. All are 0 up to rounding where both compute the same thing; other numbers mean that what is trained is not
what was sampled: other kernels, another precision, another temperature, a wrong token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from cairn.core.errors import CairnError
from cairn.trainer.ranks import Ranks


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

    def gather(self, ranks: Ranks) -> None:
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
            CairnError: it is not; with the token that is furthest off.
        """
        if self.mean <= bound:
            return
        ids, sampled, trained = self._where
        raise CairnError(
            f"The trainer's logprobs are {self.mean:.3g} from those that sampling stored, on average over {self.count} "
            f"tokens; learner.max_mismatch is {bound:g}. Furthest off is token {ids[-1]} ({decode(ids[-1:])!r}), place "
            f"{len(ids) - 1} of its sequence, after {decode(ids[-20:-1])!r}: {sampled:.4f} when sampled, {trained:.4f} "
            "now. Compare temperature, precision and model of the back end with the trainer's."
        )
