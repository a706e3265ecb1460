"""The kernel under most estimators: compare each value with its segment's mean, and perhaps divide by its spread.

For segment s with members j and weights w_j (0 or 1)::

    n_s = sum w_j        mean_s = sum w_j x_j / n_s        var_s = sum w_j (x_j - mean_s)^2 / max(n_s - 1, 1)
    out_j = (x_j - mean_s) / d_s        d_s = 1, or sqrt(var_s) + epsilon

Two passes: the one-pass form ``E[x^2] - mean^2`` loses all digits of returns such as 0.9501 and 0.9502. Cost O(N).
Degenerate cases: a segment of one member and one without spread give exactly 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from cairn.core.table import Floats, Ids, Keys, StepTable

Scale = Literal["none", "std"]


def centred(
    x: Floats,
    segment: Ids,
    *,
    scale: Scale,
    epsilon: float,
    weight: Floats | None = None,
    statistics_of: Floats | None = None,
) -> Floats:
    """Return each value's distance to its segment's weighted mean, scaled; float64 [N].

    Args:
        x: values [N].
        segment: dense ids [N].
        scale: divide by nothing, or by the segment's standard deviation (ddof 1) + epsilon.
        epsilon: added to the standard deviation, not to the variance.
        weight: which rows count for mean and deviation [N]; None: all.
        statistics_of: values [N] whose mean and deviation are taken; None: those of `x`.
    """
    of = x if statistics_of is None else statistics_of
    w = np.ones_like(of) if weight is None else weight
    count = np.maximum(np.bincount(segment, w), 1.0)
    # Shifting by a member first keeps the mean of equal values exactly equal to them.
    shift = np.zeros(len(count))
    shift[segment[::-1]] = of[::-1]
    spread = of - shift[segment]
    mean = np.bincount(segment, w * spread) / count
    deviation = x - shift[segment] - mean[segment]
    if scale == "none":
        return deviation
    variance = np.bincount(segment, w * (spread - mean[segment]) ** 2) / np.maximum(count - 1.0, 1.0)
    return deviation / (np.sqrt(variance)[segment] + epsilon)


def returns(table: StepTable, reward: Floats, gamma: float) -> Floats:
    """Return discounted returns-to-go, ``R_t = r_t + gamma R_{t+1}`` within each episode; float64 [N].

    One vector operation a turn index: cost O(N + longest episode).
    """
    out = reward.astype(np.float64, copy=True)
    rows = np.arange(len(table))
    has_next = np.zeros(len(table), np.bool_)
    has_next[:-1] = table.episode[1:] == table.episode[:-1]
    by_turn = np.argsort(table.turn, kind="stable")
    bounds = np.searchsorted(table.turn[by_turn], np.arange(int(table.turn.max(initial=-1)) + 2))
    for turn in range(len(bounds) - 2, -1, -1):
        here = by_turn[bounds[turn] : bounds[turn + 1]]
        here = here[has_next[here]]
        out[here] += gamma * out[rows[here] + 1]
    return out


def segments(group: Ids, key: Keys) -> Ids:
    """Return dense ids of (group, key) pairs: a key means nothing outside its group."""
    order = np.lexsort((key, group))
    g, k = group[order], key[order]
    is_new = np.concatenate([[True], (g[1:] != g[:-1]) | (k[1:] != k[:-1])])[: len(g)]
    out = np.empty(len(group), np.int64)
    out[order] = np.cumsum(is_new) - 1
    return out
