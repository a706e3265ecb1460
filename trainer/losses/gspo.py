"""GSPO: clips the ratio of a whole sequence instead of each token's.

::

    s_i = exp(mean over the decided tokens t of sequence i of (lp_t - lp_old_t))
    rho_t = sg(s_i) lp_t / sg(lp_t) in probabilities: the value s_i, with the gradient s_i grad lp_t
    L_t = max(-A_t rho_t, -A_t clip(rho_t, 1 - low, 1 + high))

This is the paper's token-level form (GSPO-token, eq. 13 to 15), in which each turn keeps its own advantage. If all
advantages of a sequence are equal and `learner.average` is "sequence", loss and gradient are those of GSPO (eq. 5):
``-A_i s_i`` and ``-A_i s_i`` times the mean of grad lp over the sequence. The mean is over decided tokens, of all turns
of the sequence; tokens whose constraint allowed one id have the ratio 1 and do not count. Source: 2507.18071; its
bounds are 3e-4 and 4e-4.
"""

from __future__ import annotations

import torch
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.trainer.losses.base import Loss, LossInputs, LossOutput, mean_over
from cairn.trainer.losses.clip import clipped


class GSPOConfig(Config):
    """Settings of GSPO."""

    low: float = Field(3e-4, gt=0, lt=1, description="How far below 1 the sequence's ratio counts.")
    high: float = Field(4e-4, gt=0, description="How far above 1 the sequence's ratio counts.")


def gspo(inputs: LossInputs, config: GSPOConfig) -> LossOutput:
    """Return the loss of each token."""
    own_D = inputs.logprobs_D
    change_D = mean_over((own_D - inputs.old_logprobs_D).detach(), inputs.sequences_D)
    ratio_D = torch.exp(change_D.clamp(-20, 20) + own_D - own_D.detach())
    return clipped(ratio_D, inputs.advantages_D, config.low, config.high)


LOSS = Loss(GSPOConfig, from_function(gspo))
