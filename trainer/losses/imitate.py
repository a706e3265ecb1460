"""Negative log-likelihood of the actions, weighted by the advantage; 1 for imitation.

::

    L = -A lp
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from cairn.core.config import Config
from cairn.trainer.losses.base import Loss, LossInputs, LossOutput


class ImitateConfig(Config):
    """Settings of imitation (none)."""


def make_imitate(_: ImitateConfig) -> Callable[[LossInputs], LossOutput]:
    """Return the loss; it clips no token."""
    return lambda inputs: LossOutput(
        -inputs.advantages_D * inputs.logprobs_D, torch.zeros_like(inputs.logprobs_D, dtype=torch.bool)
    )


LOSS = Loss(ImitateConfig, make_imitate)
