"""Metrics of one part of an evaluation: means over tasks with intervals, pass@k, and cost.

The unit is the task (see `agents.evaluation.statistics`): the values of several attempts at a task are averaged first.
Failed episodes are infrastructure failures: they are counted by cause and excluded from every score. Since exclusions
can flatter an agent, the share of excluded episodes is reported, with the success that counts them as failures. Above
`MOST_EXCLUDED` a result is not final.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cairn.agents.evaluation.statistics import Interval, best_of_n, interval, pass_at_k, pass_hat_k
from cairn.core.store.read import EpisodeRow

_MOST_POINTS = 50  # of a curve
MOST_EXCLUDED = 0.02  # share of a part's episodes; a result with more is not final

Curve = tuple[tuple[float, float], ...]  # (budget, share of episodes that succeed within it)


@dataclass(frozen=True, kw_only=True)
class TaskScores:
    """Successes and scores of some tasks."""

    success: Interval
    score: Interval


@dataclass(frozen=True, kw_only=True)
class Measures:
    """One part's results; None: no episode was scored, or the value was not counted."""

    tasks: int  # with a scored episode
    episodes: int  # scored episodes
    cut: int  # of the scored episodes: ended because sampling.max_context was full
    agent_errors: int  # of the scored episodes: ended because the agent's code raised or took too long
    first_agent_error: str  # message of the first of these; "" if none
    failed: Mapping[str, int]  # by cause
    first_failure: str  # message of the first of these; "" if none
    success: Interval | None
    pessimistic_success: Interval | None  # failed episodes count as not successful; over all tasks with an episode
    score: Interval | None
    reward: Interval | None  # the return: undiscounted sum of an episode's rewards
    turns: Interval | None
    prompt_tokens: float | None  # of an episode, on average; cached ones included
    reply_tokens: float | None
    cost: float | None  # of all episodes together
    seconds: float | None  # of an episode's environment steps, on average
    ceiling: float  # share of the tasks that can be solved
    by_type: Mapping[str, TaskScores]
    by_difficulty: Mapping[str, TaskScores]
    pass_at: Mapping[int, Interval]  # pass@k
    pass_hat: Mapping[int, Interval]  # pass^k
    best_of: Mapping[int, Interval]  # expected best score of n attempts
    budgets: Mapping[str, Curve]  # by limited quantity: turns, tokens, cost

    @property
    def excluded(self) -> int:
        """Number of failed episodes."""
        return sum(self.failed.values())

    @property
    def excluded_share(self) -> float:
        """Share of failed episodes among all; 0 without episodes."""
        return self.excluded / max(1, self.episodes + self.excluded)

    @property
    def is_final(self) -> bool:
        """Whether at most `MOST_EXCLUDED` of the episodes are excluded."""
        return self.excluded_share <= MOST_EXCLUDED

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Return the results as JSON-ready tables."""
        return {**asdict(self), "excluded_share": self.excluded_share, "is_final": self.is_final}


@dataclass(frozen=True, kw_only=True)
class TaskFacts:
    """Properties of a task from its environment."""

    type: str = ""
    difficulty: str = ""
    can_solve: bool = True


def measure(rows: Sequence[EpisodeRow], facts: Mapping[str, TaskFacts]) -> Measures:
    """Return the metrics of these episodes."""
    scored = [row for row in rows if row.success is not None]
    raised = [row for row in scored if row.ending == "truncated" and row.cause == "agent"]
    attempts = _by_task(scored)
    successes = _values(attempts, lambda row: float(bool(row.success)))
    scores = _values(attempts, lambda row: row.score or 0.0)
    with_failed = _values(_by_task(rows), lambda row: float(bool(row.success)))
    return Measures(
        tasks=len(attempts),
        episodes=len(scored),
        cut=sum(row.ending == "truncated" and row.cause == "tokens" for row in scored),
        agent_errors=len(raised),
        first_agent_error=raised[0].detail if raised else "",
        failed=dict(sorted(Counter(str(row.cause) for row in rows if row.success is None).items())),
        first_failure=next((row.detail for row in rows if row.success is None), ""),
        success=interval(successes) if successes else None,
        pessimistic_success=interval(with_failed) if with_failed else None,
        score=interval(scores) if scores else None,
        reward=interval(_values(attempts, lambda row: row.reward), is_share=False) if attempts else None,
        turns=interval(_values(attempts, lambda row: float(row.turns)), is_share=False) if attempts else None,
        prompt_tokens=_mean([row.prompt_tokens for row in scored]),
        reply_tokens=_mean([row.reply_tokens for row in scored]),
        cost=_sum([row.cost for row in rows]),
        seconds=_mean([row.seconds for row in scored]),
        ceiling=_share([facts.get(task, TaskFacts()).can_solve for task in attempts]),
        by_type=_outcomes(successes, scores, lambda task: facts.get(task, TaskFacts()).type),
        by_difficulty=_outcomes(successes, scores, lambda task: facts.get(task, TaskFacts()).difficulty),
        pass_at=_repeated(attempts, lambda found, k: pass_at_k(len(found), sum(bool(r.success) for r in found), k)),
        pass_hat=_repeated(attempts, lambda found, k: pass_hat_k(len(found), sum(bool(r.success) for r in found), k)),
        best_of=_repeated(attempts, lambda found, n: best_of_n([row.score or 0.0 for row in found], n)),
        budgets=_budgets(scored),
    )


# -- helpers -----------------------------------------------------------------------------------------------------------

Attempts = Mapping[str, Sequence[EpisodeRow]]
Values = Mapping[str, Sequence[float]]  # task -> value of each attempt


def _by_task(rows: Sequence[EpisodeRow]) -> dict[str, list[EpisodeRow]]:
    found: dict[str, list[EpisodeRow]] = {}
    for row in sorted(rows, key=lambda row: row.task):
        found.setdefault(row.task, []).append(row)
    return found


def _values(attempts: Attempts, value: Callable[[EpisodeRow], float]) -> Values:
    return {task: tuple([value(row) for row in rows]) for task, rows in attempts.items()}


def _outcomes(successes: Values, scores: Values, kind: Callable[[str], str]) -> dict[str, TaskScores]:
    """Return outcomes by kind; {} if no task has a kind."""
    by_kind: dict[str, list[str]] = {}
    for task in successes:
        by_kind.setdefault(kind(task), []).append(task)
    return {
        each: TaskScores(
            success=interval({task: successes[task] for task in tasks}),
            score=interval({task: scores[task] for task in tasks}),
        )
        for each, tasks in (sorted(by_kind.items()) if set(by_kind) != {""} else ())
    }


def _repeated(attempts: Attempts, value: Callable[[Sequence[EpisodeRow], int], float]) -> dict[int, Interval]:
    """Return a value per attempt count k.

    k is every power of two up to the fewest attempts of a task, and that number itself.
    """
    fewest = min((len(rows) for rows in attempts.values()), default=0)
    ks = sorted({fewest, *(2**power for power in range(fewest.bit_length()))}) if fewest > 1 else []
    return {k: interval({task: [value(rows, k)] for task, rows in attempts.items()}) for k in ks}


def _budgets(scored: Sequence[EpisodeRow]) -> dict[str, Curve]:
    """Return for each fully counted quantity the share of successes within each budget."""
    spent: dict[str, list[float | None]] = {
        "turns": [float(row.turns) for row in scored],
        "tokens": [
            None if row.prompt_tokens is None else row.prompt_tokens + (row.reply_tokens or 0) for row in scored
        ],
        "cost": [row.cost for row in scored],
    }
    won = [bool(row.success) for row in scored]
    return {
        name: _curve([value for value in values if value is not None], won)
        for name, values in spent.items()
        if values and None not in values
    }


def _tokens(row: EpisodeRow) -> float | None:
    return None if row.prompt_tokens is None else float(row.prompt_tokens + (row.reply_tokens or 0))


def _curve(spent: Sequence[float], won: Sequence[bool]) -> Curve:
    enough = np.sort(np.array(spent)[np.array(won, bool)])  # budget spent by each success
    values = np.unique(enough)
    if len(values) > _MOST_POINTS:
        values = values[np.unique(np.linspace(0, len(values) - 1, _MOST_POINTS).round().astype(int))]
    counts = np.searchsorted(enough, values, side="right")
    return tuple((float(limit), int(count) / len(won)) for limit, count in zip(values, counts, strict=True))


def _mean(values: Sequence[float | None]) -> float | None:
    return None if not values or None in values else float(np.mean([value or 0.0 for value in values]))


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 1.0
