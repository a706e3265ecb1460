"""Evaluates the current policy of a run on the run's evaluation tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

from cairn.agents.agent import new_backend
from cairn.agents.evaluation.report import Report
from cairn.agents.models.policy import Policy
from cairn.agents.rollout.engine import collect
from cairn.agents.rollout.episode import Job, PolicyInterface
from cairn.core.records import Episode, Task
from cairn.core.seeding import derive_seed
from cairn.trainer.callbacks import Callback, RolloutProgressMeter
from cairn.trainer.config import RunConfig
from cairn.trainer.engine import build_engine


class EvaluationStopped(Exception):  # noqa: N818  (a request of the user, not an error)
    """The user interrupted an evaluation.

    Its episodes are dropped, and played when the run is resumed.
    """


def play_evaluation(
    config: RunConfig,
    policy: Policy,
    interface: PolicyInterface,
    task_ids: Sequence[str],
    callback: Callback,
    is_stopped: Callable[[], bool] = lambda: False,
) -> list[Episode]:
    """Return one episode of each task, with the evaluation's temperature and random numbers.

    Args:
        config: the run's configuration.
        policy: the policy with its current weights; each turn records their version.
        interface: the policy's prompts and actions.
        task_ids: the tasks.
        callback: receives the progress.
        is_stopped: called often while episodes are played.

    Raises:
        EvaluationStopped: `is_stopped` returned true.
    """
    sampling = config.sampling.model_copy(update={"temperature": config.eval.temperature})
    jobs = [
        Job(
            task=Task(env_id=config.env.id, task_id=task_id),
            group_id=i,
            sample_seed=derive_seed(config.seed, "eval", task_id),
        )
        for i, task_id in enumerate(task_ids)
    ]
    # The back end is closed after each evaluation: its cache must not hold memory while the policy learns.
    with closing(build_engine(config, new_backend(sampling, policy), interface, config.eval_env)) as engine:
        meter = RolloutProgressMeter(callback, lambda: len(engine.active), lambda: engine.backend.tokens_processed)

        def beat() -> None:
            meter.beat()
            if is_stopped():
                raise EvaluationStopped

        return collect(engine, jobs, meter.ended, beat)


def report_metrics(report: Report) -> dict[str, float]:
    """Return the report's numbers by name, in the form of the run store."""
    return {
        "eval/success": report.success.share,
        "eval/low": report.success.low,
        "eval/high": report.success.high,
        "eval/turns": report.mean_turns,
        "eval/failed": float(report.failed),
        "eval/ceiling": report.ceiling,
        **({} if report.training_share is None else {"eval/training_share": report.training_share}),
        **{f"eval/success/{name}": rate.share for name, rate in report.by_type.items()},
    }
