"""The interface of a loss: its inputs, its output and its declaration.

A loss sees the decided tokens of whole sequences, of one micro-batch at a time: a sequence is never divided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from cairn.core.config import Config
from cairn.core.plugins import Plugin

C = TypeVar("C", bound=Config)


@dataclass(frozen=True, kw_only=True)
class LossInputs:
    """The D decided tokens of a micro-batch, one sequence after the other, on the policy's device.

    A sequence is an episode, or each of its parts if a context does not extend its prompts. A token whose constraint
    allowed one id only is not decided, and is not here.
    """

    logprobs_D: Tensor  # float32, of the current weights; the only tensor with a gradient besides `entropy_D`
    old_logprobs_D: Tensor  # float32, ratios' denominator: at sampling time, or recomputed with `importance_cap`
    sampled_logprobs_D: Tensor  # float32, at sampling time
    reference_D: Tensor | None  # float32, log-probabilities of the reference policy, if there is one
    entropy_D: Tensor  # float32, of the distribution over the allowed ids
    advantages_D: Tensor  # float32
    sequences_D: Tensor  # int64, sequence of each token, from 0
    turns_D: Tensor  # int64, turn of each token, from 0 through all sequences
    groups_D: Tensor  # int64, group of each token's episode, from 0; a micro-batch may have a part of a group

    def ratio(self) -> Tensor:
        """Return ``exp(clamp(logprobs - old_logprobs, -20, 20))``, [D]."""
        return torch.exp((self.logprobs_D - self.old_logprobs_D).clamp(-20, 20))


class LossOutput(NamedTuple):
    """The loss of each token; the learner weights and adds them (`learner.average`)."""

    loss_D: Tensor
    is_clipped_D: Tensor  # whether the loss removed the token's gradient


LossFunction = Callable[[LossInputs], LossOutput]


@dataclass(frozen=True)
class Loss(Plugin[C]):
    """A loss: ``make(config)`` returns a `LossFunction`, once a run."""

    needs_advantage: bool = True  # whether a sequence without an advantage other than 0 has no gradient


def mean_over(values_D: Tensor, places_D: Tensor) -> Tensor:
    """Return, for each token, the mean of `values_D` over the tokens of its place: its sequence, turn or group.

    `places_D`: int64, from 0 to less than D.
    """
    none_D = torch.zeros_like(values_D)  # as many places as tokens: their number is not read from the device
    sums = none_D.index_add(0, places_D, values_D)
    counts = none_D.index_add(0, places_D, torch.ones_like(values_D))
    return (sums / counts.clamp(min=1))[places_D]
