"""Polychromic objective: rewards sets of good and diverse episodes near the branching.

::

    f(g)    = mean score of the set g * distinct outcomes in g / n            g: n episodes of the group
    A_i     = mean over the sets g with episode i of (f(g) - mean of f over the group's sets)
    A_{i,t} = A_i for the first `window` steps after the branching, GAE for all others

Episodes of a group branch from one state: the root, or with a `node` column, the last node shared by two of them. Sets:
all subsets of n episodes, or the group's n-windows ("windows": episodes i, i+1, ..., cyclically in the table's order,
so that each episode is in n sets). The outcome is the channel `channel` in an episode's last row: equal numbers are one
outcome, such as a cluster of equivalent answers. GAE takes the table's `value`, and `final_value` where a budget cut
the episode. Averaging unit: sets. No divisor. Degenerate cases: a group of at most n episodes is one set, with
advantage 0.
Source: 2509.25424, after its abstract and a third party's code, whose N is 8, n 4 and window 5. Departures: sets are
all subsets, where the source samples some, so that the result is deterministic. Not implemented: rolling out the
branches.
"""

from __future__ import annotations

import itertools
import math
from typing import Literal

import numpy as np
from pydantic import Field

from cairn.core.config import Config
from cairn.core.errors import CairnError
from cairn.core.plugins import from_function
from cairn.core.table import Floats, Ids, StepTable
from cairn.trainer.credit.base import Credit
from cairn.trainer.credit.kernel import keys
from cairn.trainer.credit.kernel.returns import gae, scores
from cairn.trainer.credit.kernel.segments import segments

_MOST_SETS = 20_000  # maximum of one group


class PolychromicConfig(Config):
    """Settings of the polychromic objective."""

    set_size: int = Field(4, ge=1, description="n: episodes of a set.")
    sets: Literal["all", "windows"] = Field("all", description="Which sets: all subsets, or windows of neighbours.")
    window: int = Field(5, ge=0, description="Steps after the branching that get their sets' advantage.")
    channel: str = Field("outcome", description="Channel that numbers the outcome, in an episode's last row.")
    gamma: float = Field(1.0, ge=0, le=1, description="Discount of a turn, in GAE.")
    lam: float = Field(0.95, ge=0, le=1, description="Lambda of GAE.")


def compute(table: StepTable, config: PolychromicConfig) -> Floats:
    """Return one advantage per row, float64 [N]."""
    assert table.value is not None  # `needs`
    outcome = np.unique(table.channel(config.channel)[table.is_last], return_inverse=True)[1]
    score, group = scores(table), table.group[table.first_rows]
    of_sets = np.zeros(len(score))
    for members in np.split(np.arange(len(score)), np.flatnonzero(np.diff(group)) + 1):
        sets = _sets(len(members), config)
        of_sets[members] = _set_advantages(score[members], outcome[members], sets)
    since = table.turn - _branching(table)[table.episode]
    final = 0.0 if table.final_value is None else np.where(table.truncated, table.final_value, 0.0)
    other = gae(table, table.value, final, config.gamma, config.lam)
    return np.where((since >= 0) & (since < config.window), of_sets[table.episode], other)


def _sets(size: int, config: PolychromicConfig) -> Ids:
    """Return the members of each set, [S, n], in a group of `size` episodes."""
    n = min(config.set_size, size)
    if config.sets == "windows":
        return (np.arange(size)[:, None] + np.arange(n)) % size
    if math.comb(size, n) > _MOST_SETS:
        raise CairnError(
            f"credit 'polychromic': expected at most {_MOST_SETS} sets of {n} in a group, got {math.comb(size, n)} of "
            f"{size} episodes; take sets='windows' or another set_size"
        )
    return np.array(list(itertools.combinations(range(size), n)))


def _set_advantages(score: Floats, outcome: Ids, sets: Ids) -> Floats:
    """Return the mean advantage of each episode's sets, [episodes of the group]."""
    n = sets.shape[1]
    distinct = 1 + (np.diff(np.sort(outcome[sets], axis=1), axis=1) != 0).sum(axis=1)
    set_value = score[sets].mean(axis=1) * distinct / n
    total = np.bincount(sets.ravel(), np.repeat(set_value - set_value.mean(), n))
    out: Floats = total / np.bincount(sets.ravel())
    return out


def _branching(table: StepTable) -> Ids:
    """Return the number of steps before the branching, for each episode, [E]."""
    if table.node is None:
        return np.zeros(table.num_episodes, np.int64)
    node = segments(table.group, keys.tree_node(table))
    shared = np.bincount(node)[node] > 1
    return np.bincount(table.episode, shared, table.num_episodes).astype(np.int64)


_SETS = "episodes of one set are worth the same, and a set is worth its score times its diversity"
_GAE = "steps outside the window compare an outcome with `value`, not with other episodes"
CREDIT = Credit(
    PolychromicConfig,
    from_function(compute),
    needs=("channels", "value"),
    channels=lambda config: (config.channel,),
    violates={"no spread": _GAE, "lone": _GAE, "shift": _SETS, "better": _SETS},
)
