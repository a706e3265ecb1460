"""Compares advantages with the exact ones per group, with bootstrap intervals over groups.

cosine       of the group's policy gradient ``sum_rows A (onehot(a) - pi(.|s))`` and the exact one; 0 where it is zero
snr          mean over groups of that gradient's length along the exact one, divided by its standard deviation
correlation  Pearson's, over the rows of all groups of a task: as in a training batch
rank         Spearman's, per group
sign         share of rows with an exact advantage (above 1e-9) whose estimate has its sign; an estimate of 0 is wrong
error        mean squared distance to the exact advantages after the best common scaling, as a share of their mean
             square

Every metric is a function of sums over groups, so that a bootstrap over groups is one matrix product.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cairn.benchmarks.credit.mdp import Exact
from cairn.benchmarks.credit.rollouts import Rows
from cairn.core.table import Floats, Ids
from cairn.trainer.credit.kernel.segments import centered, means, segments

METRICS = ("cosine", "snr", "correlation", "rank", "sign", "error")
NEGLIGIBLE = 1e-9
RESAMPLES = 1000


def summands(policy_SA: Floats, exact: Exact, rows: Rows, advantage: Floats) -> Floats:
    """Return the summands of a task's metrics, [groups, 12]; `advantage` in the table's order."""
    order, group = rows.table.order, rows.table.group
    state, choice = rows.state[order], rows.choice[order]
    truth = truths(exact, rows)
    cosine, along = _gradient(policy_SA, exact, group, state, choice, advantage)
    counted = np.abs(truth) > NEGLIGIBLE
    is_right = counted & (np.sign(advantage) == np.sign(truth))
    moments = (np.ones_like(truth), advantage, truth, advantage**2, advantage * truth, truth**2, is_right, counted)
    rank = _correlations(_ranks(advantage, group), _ranks(truth, group), group)
    return np.stack([cosine, along, along**2, rank, *(np.bincount(group, x) for x in moments)], axis=1)


def truths(exact: Exact, rows: Rows) -> Floats:
    """Return the exact advantage of each row, in the table's row order."""
    order = rows.table.order
    out: Floats = exact.advantage_HSA[rows.turn[order], rows.state[order], rows.choice[order]]
    return out


def metrics(sums: Floats, groups: int) -> Floats:
    """Return the six metrics of sums over `groups` groups: [..., 12] -> [..., 6]."""
    cosine, along, along2, rank, n, x, y, xx, xy, yy, right, counted = np.moveaxis(sums, -1, 0)
    covariance, var_x, var_y = xy / n - x * y / n**2, xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
    spread = np.sqrt(np.maximum(along2 / groups - (along / groups) ** 2, 0.0))
    return np.stack(
        [
            cosine / groups,
            _divided(along / groups, spread),
            _divided(covariance, np.sqrt(np.maximum(var_x * var_y, 0.0))),
            rank / groups,
            _divided(right, counted),
            1.0 - _divided(xy**2, xx * yy),
        ],
        axis=-1,
    )


def summary(tasks: list[Floats], seed: int) -> tuple[Floats, Floats, Floats]:
    """Return metrics' means over tasks and ends of 95 % bootstrap intervals, [6] each."""
    rng = np.random.default_rng(seed)
    drawn, found = np.zeros((RESAMPLES, len(METRICS))), np.zeros(len(METRICS))
    for values in tasks:
        groups = len(values)
        weights = rng.multinomial(groups, np.full(groups, 1 / groups), RESAMPLES)
        drawn += metrics(weights @ values, groups) / len(tasks)
        found += metrics(values.sum(0), groups) / len(tasks)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return found, low, high


def _divided(x: npt.NDArray[Any], by: npt.NDArray[Any]) -> Floats:  # Any: of either number type
    """Return x / by; 0 where `by` is nearly 0."""
    out: Floats = np.divide(x, by, out=np.zeros(np.shape(x)), where=by > 1e-12)
    return out


def _gradient(
    policy_SA: Floats, exact: Exact, group: Ids, state: Ids, choice: Ids, advantage: Floats
) -> tuple[Floats, Floats]:
    """Return, per group, the cosine with the exact gradient and the length along it."""
    width = policy_SA.shape[1]
    place = segments(group, state.astype(np.uint64))
    count = int(place.max()) + 1
    state_of, group_of = np.zeros(count, np.int64), np.zeros(count, np.int64)
    state_of[place], group_of[place] = state, group
    taken = np.bincount(place * width + choice, advantage, count * width).astype(np.float64).reshape(count, width)
    found: Floats = taken - policy_SA[state_of] * np.bincount(place, advantage, count)[:, None]
    norm = np.sqrt(np.bincount(group_of, (found**2).sum(-1)))
    along = np.bincount(group_of, (found * exact.gradient_SA[state_of]).sum(-1)) / np.linalg.norm(exact.gradient_SA)
    return _divided(along, norm), along


def _ranks(x: Floats, group: Ids) -> Floats:
    """Return ranks within groups; ties, to nine digits, share the mean rank."""
    rounded = np.round(x, 9) + 0.0
    position = np.empty(len(x))
    position[np.lexsort((rounded, group))] = np.arange(len(x))
    tied = segments(group, rounded.view(np.uint64))
    return means(position, tied)[tied]


def _correlations(x: Floats, y: Floats, group: Ids) -> Floats:
    """Return Pearson's correlation of each group; 0 without spread."""
    dx, dy = centered(x, group), centered(y, group)
    return _divided(np.bincount(group, dx * dy), np.sqrt(np.bincount(group, dx**2) * np.bincount(group, dy**2)))
