"""Negative log-likelihood of the actions, weighted by the advantage; 1 for imitation.

::

    L = -A lp
"""

from __future__ import annotations

import torch

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.trainer.losses.base import Loss, LossInputs, LossOutput


class ImitateConfig(Config):
    """Settings of imitation (none)."""


def imitate(inputs: LossInputs, config: ImitateConfig) -> LossOutput:
    """Return the loss of each token; it clips none."""
    is_clipped_D = torch.zeros_like(inputs.logprobs_D, dtype=torch.bool)
    return LossOutput(-inputs.advantages_D * inputs.logprobs_D, is_clipped_D)


LOSS = Loss(ImitateConfig, from_function(imitate))
