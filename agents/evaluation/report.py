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
    """A share of successes."""

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
    """What an evaluation found. Failed episodes (faults of ours) are counted, not scored."""

    success: Rate
    by_type: dict[str, Rate]
    mean_score: float
    mean_turns: float
    failed: int
    ceiling: float  # share of the episodes' tasks that any play can solve
    usage: TokenUsage | None = None  # of a server; None: none was asked
    summaries: int = 0  # that the agent wrote for itself; they are in the usage too
    prompts: dict[str, str] = field(default_factory=dict)  # SHA-256 of what the agent was told, by setting
    training_share: float | None = None  # share of the tasks that the policy is trained on; None: not known

    @property
    def tasks(self) -> str:
        """The name of the tasks: held-out tasks, training tasks, or both."""
        return name_tasks(self.training_share)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready tables."""
        return asdict(self) | {"success_rate": self.success.share}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Report:  # Any: what `to_dict` wrote
        """Return the report that `to_dict` wrote.

        Raises:
            CairnError: these are no such tables.
        """
        try:
            return _REPORT.validate_python({"ceiling": 1.0, **values})  # checkpoints of before have no ceiling
        except (ValidationError, TypeError) as error:
            raise CairnError(f"A stored report cannot be read: {' '.join(str(error).split())[:300]}") from error


_REPORT = TypeAdapter(Report)


def name_tasks(training_share: float | None) -> str:
    """Return a name for evaluation tasks of which the policy trains on this share; None: not known."""
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
    """Return success in all and by task type, mean score and length of the episodes that were scored."""
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
