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
from cairn.trainer.losses.base import Loss


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


def compute(
    logprobs_D: Tensor, old_logprobs_D: Tensor, advantages_D: Tensor, config: ClipConfig
) -> tuple[Tensor, Tensor]:
    """Return the loss of each token and whether the clip removed its gradient."""
    ratio = torch.exp((logprobs_D - old_logprobs_D).clamp(-20, 20))
    plain = -advantages_D * ratio
    bounded = -advantages_D * ratio.clamp(1 - config.low, 1 + config.high)
    loss = torch.maximum(plain, bounded)
    is_clipped = bounded > plain
    if config.dual is not None:
        ceiling = -advantages_D * config.dual
        terminated = (advantages_D < 0) & (loss > ceiling)
        loss = torch.where(terminated, ceiling, loss)
        is_clipped = is_clipped | terminated
    return loss, is_clipped


LOSS = Loss(ClipConfig, compute)
