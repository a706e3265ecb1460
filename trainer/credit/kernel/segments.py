"""Compares each value with its segment's baseline, and optionally divides by a spread.

Most estimators use this kernel.

For segment s with members j and weights w_j (mostly 0 or 1)::

    n_s = sum w_j        mean_s = sum w_j x_j / n_s        var_s = sum w_j (x_j - mean_s)^2 / max(n_s - ddof, 1)
    out_j = (x_j - b_j) / d_s
    b_j   mean: mean_s    loo: (n_s mean_s - w_j x_j) / (n_s - w_j)    median: the lower median of s    zero: 0
    d_s   none: 1    std: sqrt(var_s) + epsilon    floor: max(sqrt(var_s), floor)    mad: median |x - b| + epsilon
          batch: sqrt(variance of all x, ddof 1) + epsilon

Two passes: the one-pass form ``E[x^2] - mean^2`` loses all digits of returns such as 0.9501 and 0.9502. Cost O(N), with
medians O(N log N). Degenerate cases: a segment of one member gives 0 with every baseline but `zero`; one without spread
gives 0 with mean, loo and median, and one whose weights are all 0 gives 0 with every baseline. `virtual` members count
in mean and variance and are not returned.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from cairn.core.table import Floats, Ids, Keys

Baseline = Literal["mean", "loo", "median", "zero"]
Scale = Literal["none", "std", "floor", "mad", "batch"]


def centered(
    x: Floats,
    segment: Ids,
    *,
    baseline: Baseline = "mean",
    scale: Scale = "none",
    epsilon: float = 1e-6,
    floor: float = 0.0,
    ddof: int = 1,
    weight: Floats | None = None,
    virtual: float | None = None,
) -> Floats:
    """Return each value's distance to its segment's baseline, scaled; float64 [N].

    Args:
        x: values [N].
        segment: dense ids [N].
        baseline: the value that is subtracted.
        scale: the divisor of the difference.
        epsilon: added to the standard deviation or the median deviation, not to the variance.
        floor: lower bound of the divisor with scale "floor".
        ddof: subtracted from the number of members in the variance.
        weight: weight of each row in mean and deviation, [N]; None: 1. Medians ignore it.
        virtual: value of one extra member in every segment of two or more.
    """
    w = np.ones_like(x) if weight is None else weight
    count = np.bincount(segment, w)
    # Shifting by a member first keeps the mean of equal values exactly equal to them.
    shift = np.zeros(len(count))
    shift[segment[::-1]] = x[::-1]
    spread, extra = x - shift[segment], np.zeros(len(count))
    if virtual is not None:
        extra = np.where(count > 1, virtual - shift, 0.0)
        count = count + (count > 1)
    total = np.bincount(segment, w * spread) + extra
    mean = total / np.maximum(count, 1.0)
    centre = mean[segment]
    if baseline == "loo":
        centre = (total[segment] - w * spread) / np.maximum(count[segment] - w, 1.0)
        centre = np.where(count[segment] - w > 0, centre, spread)
    elif baseline == "median":
        centre = lower_median(spread, segment)[segment]
    elif baseline == "zero":
        centre = -shift[segment]
    out = spread - centre
    if weight is not None:
        out = np.where(count[segment] > 0, out, 0.0)
    if scale == "none":
        return out
    if scale == "batch":
        return out / (_deviation(x) + epsilon)
    if scale == "mad":
        return out / (lower_median(np.abs(out), segment)[segment] + epsilon)
    squares = np.bincount(segment, w * (spread - mean[segment]) ** 2)
    if virtual is not None:
        squares = squares + np.where(count > 2, (extra - mean) ** 2, 0.0)
    deviation = np.sqrt(squares / np.maximum(count - ddof, 1.0))[segment]
    divisor = np.maximum(deviation, floor) if scale == "floor" else deviation + epsilon
    return out / np.where(divisor > 0, divisor, 1.0)


def means(x: Floats, segment: Ids) -> Floats:
    """Return each segment's mean, float64 [S]; exact for equal values."""
    count = np.maximum(np.bincount(segment), 1)
    shift = np.zeros(len(count))
    shift[segment[::-1]] = x[::-1]
    out: Floats = shift + np.bincount(segment, x - shift[segment]) / count
    return out


def lower_median(x: Floats, segment: Ids) -> Floats:
    """Return each segment's lower median, float64 [S].

    Of an even number of values, this is the smaller of the middle two.
    """
    out: Floats = x[lower_median_rows(x, segment)]
    return out


def lower_median_rows(x: Floats, segment: Ids) -> Ids:
    """Return the row of each segment's lower median, [S]."""
    order = np.lexsort((x, segment))
    count = np.bincount(segment)
    first = np.cumsum(count) - count
    out: Ids = order[np.minimum(first + np.maximum(count - 1, 0) // 2, len(x) - 1)]
    return out


def segments(group: Ids, key: Keys) -> Ids:
    """Return dense ids of (group, key) pairs, since keys are only valid within a group."""
    order = np.lexsort((key, group))
    g, k = group[order], key[order]
    is_new = np.concatenate([[True], (g[1:] != g[:-1]) | (k[1:] != k[:-1])])[: len(g)]
    out = np.empty(len(group), np.int64)
    out[order] = np.cumsum(is_new) - 1
    return out


def _deviation(x: Floats) -> float:
    return float(x.std(ddof=1)) if len(x) > 1 else 0.0
