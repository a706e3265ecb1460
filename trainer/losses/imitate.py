"""Negative log-likelihood of the actions, weighted by the advantage; 1 for imitation.

::

    L = -A lp
"""

from __future__ import annotations

import torch
from torch import Tensor

from cairn.core.config import Config
from cairn.trainer.losses.base import Loss


class ImitateConfig(Config):
    """Settings of imitation (none)."""


def compute(
    logprobs_D: Tensor, old_logprobs_D: Tensor, advantages_D: Tensor, config: ImitateConfig
) -> tuple[Tensor, Tensor]:
    """Return the loss of each token; none is clipped."""
    return -advantages_D * logprobs_D, torch.zeros_like(logprobs_D, dtype=torch.bool)


LOSS = Loss(ImitateConfig, compute)
