"""Token-weighted statistics: each step counts once per token of its reply.

The table needs `length`.
"""

from __future__ import annotations

import numpy as np

from cairn.core.table import Floats, StepTable
from cairn.trainer.credit.kernel.segments import centered


def whitened(table: StepTable, x: Floats, epsilon: float) -> Floats:
    """Return ``(x - mean) / sqrt(var + epsilon)`` over the batch, weighted by reply tokens; [N].

    A row without tokens does not count and gets 0: it has no token to train on, and its distance would be unbounded.
    The absolute value of every other row is at most ``sqrt(tokens of the batch / tokens of the row)``.
    """
    assert table.length is not None  # `needs`
    total = float(table.length.sum())
    if total < 2:
        return np.zeros(len(x))
    centred = centered(x, np.zeros(len(x), np.int64), weight=table.length)
    scaled = centred / np.sqrt(table.length @ centred**2 / (total - 1) + epsilon)
    return np.where(table.length > 0, scaled, 0.0)


def mean_logprobs(table: StepTable) -> Floats:
    """Return the mean logprob of each episode's tokens, [E].

    For an episode without tokens, this is its first step's logprob.
    """
    assert table.length is not None  # `needs`
    assert table.logprob is not None
    first = table.logprob[table.first_rows]  # shifting by it keeps the mean of equal values exact
    excess = np.bincount(table.episode, table.length * (table.logprob - first[table.episode]))
    return first + excess / np.maximum(np.bincount(table.episode, table.length), 1.0)
