"""Inputs of losses, for tests."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from cairn.trainer.losses.base import LossInputs


def loss_inputs(
    logprobs_D: Tensor, old_logprobs_D: Tensor, advantages_D: Tensor, sequences: Sequence[int] | None = None
) -> LossInputs:
    """Return inputs without a reference.

    `sequences`: rising numbers, equal for the tokens of a sequence; None: each token has its own.
    """
    numbers = range(len(logprobs_D)) if sequences is None else sequences
    sequences_D = torch.unique(torch.tensor(numbers, dtype=torch.long), return_inverse=True)[1]  # without gaps
    return LossInputs(
        logprobs_D=logprobs_D,
        old_logprobs_D=old_logprobs_D,
        sampled_logprobs_D=old_logprobs_D,
        reference_D=None,
        entropy_D=torch.zeros_like(logprobs_D),
        advantages_D=advantages_D,
        sequences_D=sequences_D,
        turns_D=sequences_D,
        groups_D=torch.zeros_like(sequences_D),
    )
