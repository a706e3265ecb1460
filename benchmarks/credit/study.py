"""The study: every estimator on the same episodes of every problem, policy and group size.

Settings are each method's defaults. Credit also gets lengths (one token per step) and exact logprobs. Methods that need
a critic, roles or reward channels are listed but not measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from cairn.benchmarks.credit.mdp import MDP, Exact, evaluate, tabulate
from cairn.benchmarks.credit.policies import policy_of_value
from cairn.benchmarks.credit.rollouts import Rows, sample
from cairn.benchmarks.credit.score import METRICS, summands, summary, truths
from cairn.benchmarks.credit.worlds import WORLDS
from cairn.benchmarks.process import watched
from cairn.core.plugins import CREDITS
from cairn.core.table import Floats
from cairn.trainer.credit import advantages

LEVELS = (0.02, 0.4, 0.9)
SIZES = (4, 8, 16)
GIVEN = ("length", "logprob")
FIRST_TASK = 100  # closure's settings were chosen on tasks 0 to 3
EXACT = "(exact)"  # name under which the exact advantages are measured
Methods = Mapping[str, tuple[str, Mapping[str, Any]]]  # shown name -> method and settings


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One problem at one level of success and one group size."""

    world: str
    level: float  # expected score of the policy
    size: int  # episodes per group
    tasks: int = 4
    groups: int = 300  # per task


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyResult:
    """One estimator under one condition."""

    method: str
    condition: Condition
    found: Floats  # [6] as METRICS
    low: Floats  # [6] 95 % bootstrap interval over groups
    high: Floats

    def of(self, metric: str) -> tuple[float, float, float]:
        """Return value, low and high of one metric."""
        i = METRICS.index(metric)
        return float(self.found[i]), float(self.low[i]), float(self.high[i])


def measurable() -> tuple[Methods, list[str]]:
    """Return all measurable methods, with their defaults, and the names of the others."""
    names = CREDITS.ids()
    can = [name for name in names if set(CREDITS.load(name).needs) <= set(GIVEN)]
    return {name: (name, {}) for name in can}, [name for name in names if name not in can]


def conditions(quick: bool, sizes: tuple[int, ...] = SIZES) -> list[Condition]:
    """Return all conditions; `quick`: one group size, few groups."""
    if quick:
        return [Condition(world=w, level=v, size=8, tasks=1, groups=20) for w in WORLDS for v in LEVELS]
    return [Condition(world=w, level=v, size=n) for w in WORLDS for v in LEVELS for n in sizes]


def episodes(condition: Condition) -> Iterator[tuple[Floats, Exact, Rows]]:
    """Yield policy, exact values and sampled rows of each task."""
    for task in range(condition.tasks):
        mdp, policy_SA, exact = _task(condition.world, condition.level, task)
        rows = sample(mdp, policy_SA, condition.groups, condition.size, seed=1000 * condition.size + task)
        order = rows.table.order
        logprob = np.log(policy_SA[rows.state[order], rows.choice[order]])
        yield policy_SA, exact, replace(rows, table=replace(rows.table, logprob=logprob, length=np.ones(len(order))))


def study(methods: Methods, where: list[Condition]) -> Iterator[StudyResult]:
    """Yield one result per condition and method, and one for the exact advantages themselves."""
    for condition in watched(f"credit: {len(methods)} methods under each condition", where):
        sums: dict[str, list[Floats]] = {name: [] for name in (*methods, EXACT)}
        for policy_SA, exact, rows in episodes(condition):
            for name, (method, settings) in methods.items():
                found = advantages(rows.table, method, **settings)[rows.table.order]
                sums[name].append(summands(policy_SA, exact, rows, found))
            sums[EXACT].append(summands(policy_SA, exact, rows, truths(exact, rows)))
        for name, tasks in sums.items():
            found, low, high = summary(tasks, seed=0)
            yield StudyResult(method=name, condition=condition, found=found, low=low, high=high)


@cache
def _problem(world: str, task: int) -> MDP:
    return tabulate(WORLDS[world](FIRST_TASK + task))


@cache
def _task(world: str, level: float, task: int) -> tuple[MDP, Floats, Exact]:
    """Return problem, policy and exact values of one task; the same for every group size."""
    mdp = _problem(world, task)
    policy_SA = policy_of_value(mdp, level, seed=task)
    return mdp, policy_SA, evaluate(mdp, policy_SA)
