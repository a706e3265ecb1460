"""Policies with a given score: a softmax over best-action values and noise.

``pi(a|s) ~ exp(k gap*(s, a) / spread + noise(s, a))``, with k found by bisection; gap*: Q* less its best. The noise
differs between states, so that a policy is good in some and bad in others, like trained policies.
"""

from __future__ import annotations

import numpy as np

from cairn.benchmarks.credit.mdp import MDP, best_action_values, value_of
from cairn.core.table import Floats


def policy_of_value(mdp: MDP, value: float, seed: int, noise: float = 0.5) -> Floats:
    """Return probabilities [S, A] of a policy whose expected score is `value`, to 1e-4.

    Raises:
        ValueError: no sharpness reaches the value.
    """
    q_SA = best_action_values(mdp)
    exists = mdp.exists
    best_S = np.where(exists.any(-1), np.where(exists, q_SA, -np.inf).max(-1), 0.0)
    gap_SA = np.where(exists, q_SA - best_S[:, None], 0.0)
    spread = float(gap_SA[exists].std()) or 1.0
    chance_SA = np.random.default_rng(seed).gumbel(size=q_SA.shape) * noise
    low, high = -8.0, 64.0
    for _ in range(60):
        sharpness = (low + high) / 2
        policy = _softmax(sharpness * gap_SA / spread + chance_SA, exists)
        found = value_of(mdp, policy)
        if abs(found - value) < 1e-4:
            return policy
        low, high = (sharpness, high) if found < value else (low, sharpness)
    raise ValueError(f"no policy of this kind scores {value}; the nearest scored {found:.4f}")


def _softmax(logits_SA: Floats, exists: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
    masked = np.where(exists, logits_SA, -np.inf)
    top = np.where(exists.any(-1), masked.max(-1), 0.0)
    weights = np.where(exists, np.exp(masked - top[:, None]), 0.0)
    out: Floats = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    return out
