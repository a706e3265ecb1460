"""ECPO: compares the mean returns of a state's actions, shrunk and gated by their evidence.

::

    m(s,u) = (n(s,u) G(s,u) + kappa mean_s) / (n(s,u) + kappa)
    rho(s) = tanh(n(s) / tau) B_s / (B_s + W_s + epsilon)
    A      = episode_weight (r_i - mean_g) / (std_g + epsilon) + step_weight rho(s) (m - mean_s m) / (std_s m + epsilon)

G(s,u): mean of the discounted returns after action u at state s; mean_s: mean of all returns at s; n: steps. B_s, W_s:
the variance of returns at s between and within actions, each step counted once (ddof 0). std with ddof 1. Averaging
units: episodes in the first term, steps in the second. A state with one action, one step or without spread: step term
0; a group of one episode: episode term 0.
With two actions at a state the division by std cancels kappa; `normalize = "none"` keeps it. The ablations of the
source are `kappa = 0` (gate only) and `gate = False` (shrinkage only).
Source: 2606.05885, from a secondary note with the formulas. Missing there, so our choice: the values of kappa, tau and
step_weight, gamma (GiGPO's), and the weights inside B_s and W_s.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.plugins import from_function
from cairn.core.table import Floats, Ids, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel.family import episode_term
from cairn.trainer.credit.kernel.returns import returns
from cairn.trainer.credit.kernel.segments import centered, means, segments


class ECPOConfig(Config):
    """Settings of ECPO."""

    gamma: float = Field(0.95, ge=0, le=1, description="Discount of the returns.")
    kappa: float = Field(2.0, ge=0, description="How many steps the state's mean counts for in an action's mean.")
    gate: bool = Field(True, description="Multiply a state's step terms by rho.")
    tau: float = Field(4.0, gt=0, description="Steps at a state from which the gate opens.")
    normalize: Literal["none", "std"] = Field("std", description="Divide the step term by its std, or not.")
    episode_normalize: Literal["none", "std"] = Field("std", description="Divide the episode term by its std, or not.")
    step_weight: float = Field(1.0, ge=0, description="w: of the step term.")
    episode_weight: float = Field(1.0, ge=0, description="Of the episode term.")
    epsilon: float = Field(1e-6, gt=0, description="Added to standard deviations, and to the variance in the gate.")


def compute(table: StepTable, config: ECPOConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    step_return = returns(table, table.reward, config.gamma)
    state = segments(table.group, table.anchor)
    pair = segments(state, table.action)
    of_action, of_state = means(step_return, pair)[pair], means(step_return, state)[state]
    shrink = config.kappa / (np.bincount(pair)[pair] + config.kappa)
    shrunk = of_action + shrink * (of_state - of_action)
    step_term = centered(shrunk, state, scale=config.normalize, epsilon=config.epsilon)
    if config.gate:
        step_term = step_term * _evidence(step_return, of_action, of_state, state, config)
    episode = episode_term(table, config.episode_normalize, config.epsilon)
    return config.episode_weight * episode + config.step_weight * step_term


def _evidence(step_return: Floats, of_action: Floats, of_state: Floats, state: Ids, config: ECPOConfig) -> Floats:
    """Return rho, the gate, of each row's state."""
    between = means((of_action - of_state) ** 2, state)
    within = means((step_return - of_action) ** 2, state)
    rho: Floats = np.tanh(np.bincount(state) / config.tau) * between / (between + within + config.epsilon)
    return rho[state]


CREDIT = Credit(ECPOConfig, from_function(compute))
