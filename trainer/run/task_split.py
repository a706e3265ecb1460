"""Splits a run's tasks into training tasks and evaluation tasks.

Evaluation uses the tasks that only the evaluation environment lists. If there are too few, a share of the training
tasks is held out: they are neither played nor demonstrated in training. The choice depends on the task ids and on
`eval.holdout_seed` only, so that runs with different seeds are evaluated on the same tasks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cairn.core.errors import CairnError
from cairn.core.seeding import derive_seed
from cairn.trainer.config import RunConfig
from cairn.trainer.run.history import history_of, trained_tasks


@dataclass(frozen=True, kw_only=True)
class TaskSplit:
    """The tasks of a run."""

    train: tuple[str, ...]  # training tasks of updates, in the environment's order
    evaluation: tuple[str, ...]  # in the order of the evaluation environment
    held_out: tuple[str, ...]  # never trained on, even after a resume; empty if no unseen tasks exist
    training_share: float  # share of `evaluation` in the training tasks; above 0 only without unseen tasks

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Return the facts for the run's store: held-out task ids, counts and the share."""
        return {
            "held_out": list(self.held_out),
            "training": len(self.train),
            "evaluation": len(self.evaluation),
            "training_share": self.training_share,
        }


def split_run_tasks(
    config: RunConfig,
    training: Sequence[str],
    evaluation: Sequence[str],
    meta: Mapping[str, Any] | None,  # Any: see RunStore.meta
) -> TaskSplit:
    """Return the tasks of a run; `meta` has a resumed run's facts, with its held-out tasks."""
    held_out, before = None, set[str]()
    if meta is not None:
        tasks = meta.get("tasks", {})
        held_out = (
            tasks.get("held_out", ()) if isinstance(tasks, Mapping) else None
        )  # earlier versions held out no tasks
        if not isinstance(held_out, (list, tuple)) or not all(isinstance(task, str) for task in held_out):
            raise CairnError(f"A run's stored tasks cannot be read: expected lists of ids, got {tasks!r:.100}")
        before = trained_tasks(config.env.id, history_of(meta), held_out)
    return split_tasks(
        training,
        evaluation,
        count=config.eval.tasks,
        share=config.eval.holdout,
        seed=config.eval.holdout_seed,
        held_out=held_out,
        trained_before=before,
    )


def split_tasks(
    training: Sequence[str],
    evaluation: Sequence[str],
    *,
    count: int,
    share: float,
    seed: int = 0,
    held_out: Collection[str] | None = None,
    trained_before: Collection[str] = (),
) -> TaskSplit:
    """Return the tasks to train on and at most `count` tasks to evaluate on.

    At least one task is held out if `share` is above 0 and there are two or more; a single task is trained on and
    evaluated.

    Args:
        training: task ids of the training environment.
        evaluation: task ids of the evaluation environment.
        count: tasks to evaluate on.
        share: maximum share of `training` to hold out; 0: no task is held out, and training tasks are evaluated.
        seed: of the choice of held-out tasks.
        held_out: tasks that a resumed run has held out so far; it holds out no others, because it has trained on them.
            None: a new run.
        trained_before: tasks that a resumed run has trained on under earlier settings.
    """
    trained = {*training, *trained_before}
    if held_out is None:
        candidates = [task for task in evaluation if task in trained]
        missing = count - (len(evaluation) - len(candidates))
        most = min(max(int(share * len(training)), 1), len(training) - 1) if share > 0 else 0
        held_out = _choose(candidates, max(min(missing, most), 0), seed)
    held = frozenset(held_out)
    unseen = [task for task in evaluation if task in held or task not in trained]
    chosen = tuple((unseen or list(evaluation))[:count])
    return TaskSplit(
        train=tuple(task for task in training if task not in held),
        evaluation=chosen,
        held_out=tuple(sorted(held | frozenset(chosen if unseen else ()))),
        training_share=0.0 if unseen else sum(task in trained for task in chosen) / max(len(chosen), 1),
    )


def _choose(tasks: Sequence[str], count: int, seed: int) -> list[str]:
    return sorted(tasks, key=lambda task: derive_seed(seed, "hold out", task))[:count]
