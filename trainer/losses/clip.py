"""PPO's clipped objective, with separate bounds (clip-higher) and an optional dual clip.

::

    rho = exp(clamp(lp - lp_old, -20, 20))
    L = max(-A rho, -A clip(rho, 1 - low, 1 + high));    with `dual` c: L = min(L, -A c) where A < 0

No gradient where A > 0 and rho > 1 + high, where A < 0 and rho < 1 - low, and where A < 0 and rho > c. On the first
step after sampling rho is 1 and the gradient is -A grad lp. Source: 1707.06347, eq. 7; dual clip 1912.09729;
clip-higher 2503.14476.
"""

from __future__ import annotations

import torch
from pydantic import Field, model_validator
from torch import Tensor

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.trainer.losses.base import Loss, LossInputs, LossOutput


class ClipConfig(Config):
    """Settings of the clipped loss."""

    low: float = Field(0.2, gt=0, lt=1, description="How far below 1 the ratio counts.")
    high: float = Field(0.2, gt=0, description="How far above 1 the ratio counts.")
    dual: float | None = Field(
        None, gt=1, description="Bound on the ratio where the advantage is negative; None: none."
    )

    @model_validator(mode="after")
    def _check(self) -> ClipConfig:
        if self.dual is not None and self.dual <= 1 + self.high:
            raise ValueError(f"dual must exceed 1 + high = {1 + self.high}")
        return self


def clip(inputs: LossInputs, config: ClipConfig) -> LossOutput:
    """Return the loss of each token."""
    return clipped(inputs.ratio(), inputs.advantages_D, config.low, config.high, config.dual)


def clipped(ratio_D: Tensor, advantages_D: Tensor, low: float, high: float, dual: float | None = None) -> LossOutput:
    """Return the clipped loss of each token, given its ratio."""
    plain = -advantages_D * ratio_D
    bounded = -advantages_D * ratio_D.clamp(1 - low, 1 + high)
    loss = torch.maximum(plain, bounded)
    is_clipped = bounded > plain
    if dual is not None:
        ceiling = -advantages_D * dual
        is_over = (advantages_D < 0) & (loss > ceiling)
        loss = torch.where(is_over, ceiling, loss)
        is_clipped = is_clipped | is_over
    return LossOutput(loss, is_clipped)


LOSS = Loss(ClipConfig, from_function(clip))
