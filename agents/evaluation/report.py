"""Success on a list of tasks, with a 95 % interval, for any agent: scripted or a policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from cairn.agents.backends.http.usage import TokenUsage
from cairn.agents.evaluation.statistics import wilson
from cairn.core.errors import CairnError
from cairn.core.records import Episode


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A success rate."""

    successes: int
    episodes: int
    low: float  # bounds of the 95 % Wilson interval
    high: float

    @property
    def share(self) -> float:
        """Successes over episodes; NaN without episodes."""
        return self.successes / self.episodes if self.episodes else math.nan

    @classmethod
    def of(cls, outcomes: Sequence[bool]) -> Rate:
        """Count outcomes."""
        low, high = wilson(sum(outcomes), len(outcomes))
        return cls(successes=sum(outcomes), episodes=len(outcomes), low=low, high=high)

    def __str__(self) -> str:
        return f"{100 * self.share:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"


@dataclass(frozen=True, kw_only=True)
class Report:
    """The results of an evaluation; infrastructure failures are counted but not scored."""

    success: Rate
    by_type: dict[str, Rate]
    mean_score: float
    mean_turns: float
    failed: int
    ceiling: float  # share of the episodes' tasks that can be solved
    usage: TokenUsage | None = None  # of a server; None: no server was used
    summaries: int = 0  # written by the agent for itself; included in the usage
    prompts: dict[str, str] = field(default_factory=dict)  # SHA-256 of the prompts, by setting
    training_share: float | None = None  # share of training tasks of the policy among the tasks; None: unknown

    @property
    def tasks(self) -> str:
        """The kind of tasks: held-out tasks, training tasks, or both."""
        return name_tasks(self.training_share)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready tables."""
        return asdict(self) | {"success_rate": self.success.share}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Report:  # Any: output of `to_dict`
        """Return the report that `to_dict` wrote.

        Raises:
            CairnError: the tables are malformed.
        """
        try:
            return _REPORT.validate_python({"ceiling": 1.0, **values})  # older checkpoints have no ceiling
        except (ValidationError, TypeError) as error:
            raise CairnError(f"A stored report cannot be read: {' '.join(str(error).split())[:300]}") from error


_REPORT = TypeAdapter(Report)


def name_tasks(training_share: float | None) -> str:
    """Return a name for evaluation tasks with this share of training tasks; None: unknown."""
    if training_share is None:
        return "evaluation tasks"
    if 0 < training_share < 1:
        return f"evaluation tasks ({training_share:.0%} of them training tasks)"
    return "training tasks" if training_share else "held-out tasks"


def summarise(
    episodes: Sequence[Episode],
    task_type: Callable[[str], str],
    can_solve: Callable[[str], bool] = lambda task: True,
    training_share: float | None = None,
) -> Report:
    """Return success, overall and by task type, mean score and length of scored episodes."""
    scored = [e for e in episodes if not e.is_failed]
    by_type: dict[str, list[bool]] = {}
    for episode in scored:
        by_type.setdefault(task_type(episode.task.task_id), []).append(bool(episode.success))
    count = max(len(scored), 1)
    return Report(
        success=Rate.of([bool(e.success) for e in scored]),
        by_type={name: Rate.of(outcomes) for name, outcomes in sorted(by_type.items())},
        mean_score=sum(e.score or 0.0 for e in scored) / count,
        mean_turns=sum(len(e.turns) for e in scored) / count,
        failed=len(episodes) - len(scored),
        summaries=sum(note.kind == "summary" for e in episodes for turn in e.turns for note in turn.notes),
        training_share=training_share,
        ceiling=sum(can_solve(e.task.task_id) for e in scored) / count if scored else 1.0,
    )
