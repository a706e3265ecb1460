"""Statistics of successes and scores: intervals, pass@k, paired comparisons, Shapley values.

The unit is the task: attempts at one task are not independent, so a task contributes their mean, and intervals come
from resampling tasks. Two agents are compared on the same tasks, task by task.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri, stdtrit  # scipy.stats takes half a second to import

from cairn.core.errors import CairnError

CONFIDENCE, POWER = 0.95, 0.8
_RESAMPLES = 4999
_AT_ONCE = 200  # resamples per batch, so that a batch fits into the processor's cache
_MOST_DRAWN = 1000  # tasks; with more, the mean is approximately normal
_LEAST_TASKS = 6  # with fewer no exact test is below 0.05: 5 tasks on one side give 2 / 2^5
_Z = float(ndtri(0.5 + CONFIDENCE / 2))

Attempts = Mapping[str, Sequence[float]]  # task -> value of each attempt


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A mean over tasks and its 95 % interval."""

    mean: float
    low: float
    high: float
    tasks: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, kw_only=True)
class Paired:
    """The second of two agents compared with the first, on the same tasks."""

    difference: Interval  # second - first, of the tasks' means
    p_value: float  # two-sided, of equal success
    test: str  # name of the test
    only_first: int  # tasks at which only the first had the better mean
    only_second: int
    effect: float | None  # mean / standard deviation of the differences (Cohen's d_z); None: all are equal
    tasks_needed: int | None  # tasks to detect this difference with power 0.8; None: no difference


def wilson(successes: float, episodes: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share; (0, 1) without episodes.

    The counts need not be whole numbers. ``(p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)``
    """
    if episodes == 0:
        return 0.0, 1.0
    p, n, z2 = successes / episodes, episodes, _Z**2
    centre, half = p + z2 / (2 * n), _Z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    low, high = (centre - half) / (1 + z2 / n), (centre + half) / (1 + z2 / n)
    return low if successes else 0.0, high if successes < episodes else 1.0


def interval(attempts: Attempts, seed: int = 0, *, is_share: bool = True) -> Interval:
    """Return the mean over tasks of the mean over a task's attempts, and its 95 % interval.

    `is_share`: the values lie in [0, 1] by definition, as successes and scores do. If all of them are 0 or 1, the
    interval is Wilson's for the effective number of episodes (`_effective`), which lies between one per task (if
    attempts at a task always agree) and the number of attempts. Otherwise it is a bootstrap interval over tasks
    (Efron's BCa, 4,999 draws), or ``mean -+ z s / sqrt(n)`` with more than 1,000 tasks. If all tasks have the same
    mean, low and high equal it.

    Raises:
        CairnError: there is no task, or one without an attempt.
    """
    means = _means(attempts)
    if is_share and _are_binary(attempts):
        mean, effective = float(means.mean()), _effective(means, [len(values) for values in attempts.values()])
        low, high = wilson(mean * effective, effective)
        return Interval(mean=mean, low=low, high=high, tasks=len(means))
    return _bootstrap(means, seed)


def student(values: Sequence[float]) -> tuple[float, float]:
    """Return Student's 95 % interval of a mean.

    ``mean -+ t s / sqrt(n)`` with n - 1 degrees of freedom, for a few runs with different seeds, each of which is one
    value.

    Raises:
        CairnError: there are fewer than two values.
    """
    if len(values) < 2:
        raise CairnError(f"An interval over seeds needs at least two, got {len(values)}")
    mean, half = float(np.mean(values)), _standard_error(values) * float(stdtrit(len(values) - 1, 0.975))
    return mean - half, mean + half


def pass_at_k(attempts: int, successes: int, k: int) -> float:
    """Return the probability that at least one of `k` attempts at a task succeeds.

    ``1 - C(n - c, k) / C(n, k)``, unbiased over draws of k of the n attempts, of which c succeeded (Chen et al. 2021,
    arXiv:2107.03374).

    Raises:
        CairnError: there are fewer attempts than `k`.
    """
    _enough(attempts, successes, k)
    return 1.0 - math.comb(attempts - successes, k) / math.comb(attempts, k)


def pass_hat_k(attempts: int, successes: int, k: int) -> float:
    """Return the probability that all of `k` attempts at a task succeed: ``C(c, k) / C(n, k)``.

    Unbiased, as `pass_at_k` (Yao et al. 2024, arXiv:2406.12045, where it is pass^k).

    Raises:
        CairnError: there are fewer attempts than `k`.
    """
    _enough(attempts, successes, k)
    return math.comb(successes, k) / math.comb(attempts, k)


def best_of_n(scores: Sequence[float], n: int) -> float:
    """Return the expected best score of `n` of the m attempts at a task.

    ``sum_i C(i - 1, n - 1) / C(m, n) s_(i)``, where ``s_(i)`` is the i-th lowest score. Unbiased over draws of n of the
    m attempts. With scores of 0 and 1 it equals pass@n.

    Raises:
        CairnError: there are fewer attempts than `n`.
    """
    count = len(scores)
    _enough(count, 0, n)
    draws = math.comb(count, n)
    return sum(math.comb(i, n - 1) / draws * float(score) for i, score in enumerate(sorted(scores)))


def mcnemar(only_first: int, only_second: int) -> float:
    """Return McNemar's exact two-sided p-value; 1 if no task was solved by one agent only.

    The null hypothesis: a task that only one agent solved is equally likely to be solved by either.
    """
    total = only_first + only_second
    return min(1.0, 2 * float(bdtr(min(only_first, only_second), total, 0.5))) if total else 1.0


def paired(first: Attempts, second: Attempts, seed: int = 0) -> Paired:
    """Compare two agents task by task.

    The test is McNemar's exact one if each task has one value of 0 or 1, else sign flips: the share, among 4,999 random
    sign vectors of the tasks' differences and the observed one, whose mean is at least as far from 0. The interval of
    the difference is `_agresti_min` if all attempts are 0 or 1, else the bootstrap's. `tasks_needed` is
    ``(z_a sqrt(v + d^2) + z_b sqrt(v))^2 / d^2`` for the mean d and the variance v of the differences, which for pairs
    of 0 and 1 is Connor's formula (1987); at least 6, the fewest tasks with which an exact test can be significant.

    Raises:
        CairnError: the sides have different tasks; the message names one.
    """
    if strangers := sorted(set(first) ^ set(second)):
        where = "first" if strangers[0] in first else "second"
        raise CairnError(f"{len(strangers)} tasks have one side alone, such as {strangers[0]!r} in the {where}")
    names = sorted(first)
    differences = _means({n: second[n] for n in names}) - _means({n: first[n] for n in names})
    only_first, only_second = int((differences < 0).sum()), int((differences > 0).sum())
    are_binary = _are_binary(first) and _are_binary(second)
    if are_binary and all(len(values) == 1 for side in (first, second) for values in side.values()):
        test, p_value = "McNemar, exact", mcnemar(only_first, only_second)
    else:
        test, p_value = "sign flips by task", _sign_flips(differences, seed)
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return Paired(
        difference=_agresti_min(differences) if are_binary else _bootstrap(differences, seed),
        p_value=p_value,
        test=test,
        only_first=only_first,
        only_second=only_second,
        effect=float(differences.mean()) / spread if spread else None,
        tasks_needed=_tasks_needed(float(differences.mean()), float(differences.var())),
    )


def shapley(values: Mapping[frozenset[str], float]) -> dict[str, float]:
    """Return each part's Shapley value, from the value of every set of parts.

    ``phi_i = sum over S without i of |S|! (n - |S| - 1)! / n! (v(S + i) - v(S))``; they sum to the value of all parts
    minus the value of no parts.

    Raises:
        CairnError: the value of a set is missing; the message names the set.
    """
    parts = sorted(frozenset().union(*values))
    count = len(parts)
    for wanted in _subsets(parts):
        if wanted not in values:
            raise CairnError(f"Set {sorted(wanted)} has no score; {count} parts need all {2**count} sets")
    found = {}
    for part in parts:
        found[part] = sum(_share(values, part, others, count) for others in _subsets(set(parts) - {part}))
    return found


# -- helpers -----------------------------------------------------------------------------------------------------------


def _means(attempts: Attempts) -> NDArray[np.float64]:
    empty = [task for task, values in attempts.items() if not len(values)]
    if empty or not attempts:
        raise CairnError(f"Task {empty[0]!r} has no attempt that was scored" if empty else "There are no tasks")
    return np.array([sum(values) / len(values) for values in attempts.values()], np.float64)


def _are_binary(attempts: Attempts) -> bool:
    return all(float(value) in (0.0, 1.0) for values in attempts.values() for value in values)


def _effective(means: NDArray[np.float64], counts: Sequence[int]) -> float:
    """Return the effective number of independent episodes: ``p (1 - p) T / s^2``.

    p and s^2 are the mean and the variance (divisor T - 1) of the T tasks' shares. The result is at least T and at most
    ``T^2 / sum(1 / m)`` for m attempts at a task, which is the number of attempts if each task has as many. It is T if
    p is 0 or 1 (Korn and Graubard 1998; Wilson's interval on it: Dean and Pagano 2015).
    """
    tasks, share = len(means), float(means.mean())
    spread = float(means.var(ddof=1)) if tasks > 1 else 0.0
    most = tasks**2 / sum(1 / count for count in counts)
    if share in (0.0, 1.0):
        return float(tasks)
    return min(max(share * (1 - share) * tasks / spread, tasks), most) if spread else most


def _agresti_min(differences: NDArray[np.float64]) -> Interval:
    """Return the mean difference of shares with Agresti and Min's interval.

    Agresti and Min (2005, Statistics in Medicine 24): two tasks are added, half of one for each possible pair of two
    outcomes of 0 or 1: ``d = sum(x) / n``, ``d -+ z sqrt((sum(x^2) + 1) / n - d^2) / sqrt(n)``, where n includes these
    two. With several attempts per task the interval is somewhat too wide.
    """
    n = len(differences) + 2
    centre = float(differences.sum()) / n
    half = _Z * math.sqrt(((float(np.square(differences).sum()) + 1) / n - centre**2) / n)
    low, high = max(-1.0, centre - half), min(1.0, centre + half)
    return Interval(mean=float(differences.mean()), low=low, high=high, tasks=len(differences))


def _standard_error(values: Sequence[float] | NDArray[np.float64]) -> float:
    """Return ``s / sqrt(n)`` of at least two values, with ``s^2 = sum((x - mean)^2) / (n - 1)``."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


def _bootstrap(values: NDArray[np.float64], seed: int) -> Interval:
    low = high = mean = float(values.mean())
    if len(values) > _MOST_DRAWN:
        half = _Z * _standard_error(values)
        return Interval(mean=mean, low=mean - half, high=mean + half, tasks=len(values))
    for method in ("BCa", "percentile") if np.ptp(values) > 0 else ():
        from scipy.stats import bootstrap  # see above

        rng = np.random.default_rng(seed)
        found = bootstrap(
            (values,), np.mean, n_resamples=_RESAMPLES, batch=_AT_ONCE, confidence_level=CONFIDENCE, method=method,
            rng=rng,
        )  # fmt: skip
        low, high = map(float, found.confidence_interval)
        if math.isfinite(low) and math.isfinite(high):  # BCa's may not be finite with very few tasks
            break
    return Interval(mean=mean, low=low, high=high, tasks=len(values))


def _sign_flips(differences: NDArray[np.float64], seed: int) -> float:
    rng = np.random.default_rng(seed)
    seen, as_far = abs(differences.sum()), 1
    for _ in range(_RESAMPLES):
        signs = rng.integers(0, 2, len(differences)) * 2 - 1
        as_far += abs(float(signs @ differences)) >= seen - 1e-12 * len(differences)
    return as_far / (_RESAMPLES + 1)


def _tasks_needed(mean: float, variance: float) -> int | None:
    if not mean:
        return None
    z_power = float(ndtri(POWER))
    needed = (_Z * math.sqrt(variance + mean**2) + z_power * math.sqrt(variance)) ** 2 / mean**2
    return max(_LEAST_TASKS, math.ceil(needed))


def _enough(attempts: int, successes: int, k: int) -> None:
    if not 1 <= k <= attempts or not 0 <= successes <= attempts:
        raise CairnError(f"{k} of {attempts} attempts cannot be drawn, or {successes} of them succeed")


def _subsets(parts: Iterable[str]) -> Iterable[frozenset[str]]:
    listed = sorted(parts)
    return (frozenset(chosen) for size in range(len(listed) + 1) for chosen in combinations(listed, size))


def _share(values: Mapping[frozenset[str], float], part: str, others: frozenset[str], count: int) -> float:
    weight = math.factorial(len(others)) * math.factorial(count - len(others) - 1) / math.factorial(count)
    return weight * (values[others | {part}] - values[others])
