"""The training loop: warm start, then episodes -> step table -> credit -> loss -> AdamW, with evaluations between.

Exactly on-policy: an update's episodes are all sampled with the weights that it changes. Everything random follows from
the run's seed and the update's number, so a run that goes on from a checkpoint draws what it would have drawn.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cairn.agents.backends.hf import HFBackend
from cairn.agents.collect import collect
from cairn.agents.engine import Engine
from cairn.agents.evaluate import PolicyAgent, new_context
from cairn.agents.flight import Job
from cairn.agents.models.policy import Policy, load_policy, load_pretrained
from cairn.agents.report import Report, summarise
from cairn.agents.rollout import Rollout, State
from cairn.core.errors import CairnError
from cairn.core.records import Episode, Task
from cairn.core.seeding import derive_seed
from cairn.core.store import RunStore
from cairn.core.table import Floats, Keys, StepTable
from cairn.envs.pool import EnvPool, PoolConfig
from cairn.envs.registry import make
from cairn.trainer import checkpoint
from cairn.trainer.checkpoint import Checkpoint
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.credit import advantages
from cairn.trainer.credit.kernel.similarity import similar
from cairn.trainer.imitation import demonstrations, environment_texts, imitate
from cairn.trainer.interrupt import Interrupt
from cairn.trainer.learner import Learner
from cairn.trainer.listener import Listener
from cairn.trainer.metrics import credit_metrics, episode_metrics, staleness_metrics
from cairn.trainer.samples import make_samples
from cairn.trainer.tasks import TaskOrder
from cairn.trainer.tensorboard import TensorBoard


@dataclass(frozen=True)
class Run:
    """A run, finished or stopped."""

    folder: Path
    reports: Mapping[int, Report]  # by number of updates done
    is_finished: bool = True  # else it was interrupted, and goes on from its checkpoint

    @property
    def final(self) -> Report:
        """The last evaluation."""
        return self.reports[max(self.reports)]

    @property
    def checkpoint(self) -> Path:
        """The newest checkpoint, which transformers loads as is."""
        return max((self.folder / "checkpoints").glob("update-*"))


def train(
    config: str | Path | Mapping[str, Any] | RunConfig,
    overrides: Mapping[str, Any] | None = None,
    *,
    folder: str | Path | None = None,
    listener: Listener | None = None,
) -> Run:
    """Train as the configuration says, in a new folder under ``runs/`` unless `folder` is given.

    A `folder` that already holds a run goes on from its newest intact checkpoint. Ctrl-C stops after the update under
    way, which is saved; a second one stops at once.

    Raises:
        ConfigError: the configuration cannot work.
        CairnError: too many episodes failed, or a file cannot be written.
    """
    settings = config if isinstance(config, RunConfig) else load_run_config(config, overrides)
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    where = Path(folder) if folder is not None else Path("runs") / f"{settings.name}-{stamp}"
    where.mkdir(parents=True, exist_ok=True)
    with RunStore(where / "run.sqlite") as store:
        return Trainer(settings, where, store, TensorBoard(where, listener or Listener())).run()


class Trainer:
    """One run's parts and its loop."""

    def __init__(self, config: RunConfig, folder: Path, store: RunStore, listener: Listener) -> None:
        set_up_torch(config.trainer.threads, config.trainer.deterministic)
        self.config, self.folder, self.store, self.listener = config, folder, store, listener
        self.env = make(config.env.id, **config.env.config)
        self.eval_env = make(config.env.id, **config.eval_env)
        self.train_tasks = list(self.env.tasks())
        self.eval_tasks = list(self.eval_env.tasks()[: config.eval.tasks])
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.reports: dict[int, Report] = {}
        self.seconds: dict[str, float] = {}
        self.interrupt = Interrupt(listener.noted)

    def run(self) -> Run:
        """Train to the end, or until interrupted, and return what came out."""
        with self.interrupt:
            return self._run()

    def _run(self) -> Run:
        found = self._newest_checkpoint()
        policy = self._policy(found)
        learner = self._learner(policy, found)
        self.listener.started(self.folder, self._facts(policy))
        self.store.set_meta(
            {"config": self.config.model_dump(), "versions": versions(), "parameters": policy.num_parameters}
        )
        if found is None:
            self._warm_start(policy)
            self._evaluate(policy, 0)
            self._save(policy, learner, 0, None)
        done = found.update if found else 0
        rollout = self._rollout(policy, found)
        while done < self.config.trainer.updates and not self.interrupt.is_asked:
            self._update(done, rollout, learner)
            done += 1
            self._after(policy, learner, rollout, done)
        return Run(self.folder, self.reports, is_finished=done == self.config.trainer.updates)

    # -- one update -------------------------------------------------------------------------------------------------

    def _update(self, update: int, rollout: Rollout, learner: Learner) -> None:
        self.seconds = {}
        tokens = rollout.engine.backend.num_tokens
        with self._timed("rollout", self.config.trainer.groups * self.config.trainer.group_size):
            episodes = rollout.batch(lambda _: self.listener.advanced(1))
        self._stop_if_failing(episodes)
        usable = [e for e in episodes if not e.is_failed]
        with self._timed("credit", 1):
            advantage, measured = self._credit(usable)
            samples = make_samples(usable, advantage)
        with self._timed("learn", 1):
            loss = self.config.loss
            learned = learner.update(
                samples, loss.method, loss.settings, derive_seed(self.config.seed, "learn", update), version=update
            )
        rollout.update_weights(update + 1)
        tokens = rollout.engine.backend.num_tokens - tokens
        metrics = {
            **episode_metrics(episodes),
            **staleness_metrics(episodes, update),
            **measured,
            **learned,
            "tokens": float(tokens),
            "in_flight": float(len(rollout.engine.flights)),
            "restarted": float(rollout.restarted),
            **{f"seconds/{k}": v for k, v in self.seconds.items()},
            "tokens_per_second": tokens / sum(self.seconds.values()),
        }
        kinds = [self.env.task_type(e.task.task_id) for e in usable]
        self.store.add(update + 1, metrics, usable, task_types=kinds, advantages=advantage.tolist())
        self.store.add(update + 1, {}, failed := [e for e in episodes if e.is_failed], task_types=[""] * len(failed))
        self.listener.updated(update + 1, metrics)

    def _credit(self, episodes: Sequence[Episode]) -> tuple[Floats, dict[str, float]]:
        """Return one advantage a turn, in the order of the episodes, and what there is to say about them."""
        if not episodes:
            return np.zeros(0), {}
        is_deterministic = self.env.meta.is_deterministic
        table = StepTable.from_episodes(episodes, anchor=self._anchors(episodes), is_deterministic=is_deterministic)
        found = advantages(table, self.config.credit.method, **self.config.credit.settings)
        return found, credit_metrics(table, found[table.order])

    def _anchors(self, episodes: Sequence[Episode]) -> Keys | None:
        """Return keys of similar observations, one a turn; None: the environment's anchors are used."""
        if self.config.trainer.similarity is None:
            return None
        turns = [(e.group_id, turn.observation.text) for e in episodes for turn in e.turns]
        groups, texts = zip(*turns, strict=True)
        return similar(texts, groups, self.config.trainer.similarity)

    def _stop_if_failing(self, episodes: Sequence[Episode]) -> None:
        failed = [e for e in episodes if e.is_failed]
        if len(failed) > self.config.trainer.max_failed_share * len(episodes):
            raise CairnError(
                f"{len(failed)} of {len(episodes)} episodes failed, more than trainer.max_failed_share allows; "
                f"the first: {failed[0].ending.detail or failed[0].ending.cause}"
            )

    def _after(self, policy: Policy, learner: Learner, rollout: Rollout, done: int) -> None:
        is_last = done == self.config.trainer.updates
        if is_last or done % self.config.eval.every == 0:
            self._evaluate(policy, done)
        if is_last or self.interrupt.is_asked or done % self.config.trainer.checkpoint_every == 0:
            self._save(policy, learner, done, rollout.state())

    # -- before, between and after ----------------------------------------------------------------------------------

    def _newest_checkpoint(self) -> Checkpoint | None:
        found, problems = checkpoint.latest(self.folder / "checkpoints")
        for problem in problems:
            self.listener.noted(problem)
        self.store.forget_after(found.update if found is not None else -1)
        if found is not None:
            self.listener.noted(f"going on from {found.folder.name}")
            stored = self.store.meta().get("reports", {})
            self.reports = {int(n): Report.from_dict(r) for n, r in stored.items() if int(n) <= found.update}
        return found

    def _policy(self, found: Checkpoint | None) -> Policy:
        if found is not None:
            return load_pretrained(str(found.folder), self.config.model.dtype, self.device)
        return load_policy(
            self.config.model,
            lambda: environment_texts(self.env, self.train_tasks, self.config),
            self.config.seed,
            self.device,
        )

    def _learner(self, policy: Policy, found: Checkpoint | None) -> Learner:
        config = self.config
        steps = config.trainer.updates * config.learner.epochs * config.learner.minibatches
        learner = Learner(policy, config.learner, steps, config.sampling.temperature)
        if found is not None:
            checkpoint.restore_learner(found, learner)
        return learner

    def _warm_start(self, policy: Policy) -> None:
        config = self.config.imitation
        if config.episodes == 0:
            return
        with self._timed("demonstrate", config.episodes):
            episodes = demonstrations(
                self.config,
                lambda: new_context(self.config.agent, policy),
                lambda: self.listener.advanced(1),
            )
        if not episodes:
            raise CairnError(f"imitation.oracle: {config.oracle!r} solved none of {config.episodes} tasks")
        with self._timed("imitate", config.epochs):
            for epoch, metrics in enumerate(imitate(policy, episodes, config, self.config), start=1):
                self.listener.imitated(epoch, metrics)
                self.store.add(0, {f"imitation/{name}": value for name, value in metrics.items()})

    def _evaluate(self, policy: Policy, done: int) -> None:
        sampling = self.config.sampling.model_copy(update={"temperature": self.config.eval.temperature})
        jobs = [
            Job(
                task=Task(env_id=self.config.env.id, task_id=task_id),
                group_id=i,
                sample_seed=derive_seed(self.config.seed, "eval", task_id),
            )
            for i, task_id in enumerate(self.eval_tasks)
        ]
        with self._timed("evaluate", len(jobs)):
            engine = self._engine(HFBackend(policy, sampling), self.config.eval_env, policy)
            episodes = collect(engine, jobs, lambda _: self.listener.advanced(1))
        self._stop_if_failing(episodes)
        report = self.reports[done] = summarise(episodes, self.eval_env.task_type, self.eval_env.can_solve)
        kinds = [self.eval_env.task_type(e.task.task_id) for e in episodes]
        metrics = {
            "eval/success": report.success.share,
            "eval/low": report.success.low,
            "eval/high": report.success.high,
            "eval/turns": report.mean_turns,
            "eval/failed": float(report.failed),
            "eval/ceiling": report.ceiling,
        }
        by_type = {f"eval/success/{name}": rate.share for name, rate in report.by_type.items()}
        self.store.add(done, {**metrics, **by_type}, episodes, phase="eval", task_types=kinds)
        self.store.set_meta({"reports": {str(n): r.to_dict() for n, r in self.reports.items()}})
        self.listener.evaluated(done, report)

    def _engine(self, backend: HFBackend, env_config: Mapping[str, Any], policy: Policy) -> Engine:
        settings = {**dict(self.config.pool), "size": self.config.sampling.slots}
        pool = EnvPool(self.config.env.id, env_config, PoolConfig(**settings))
        manner = PolicyAgent(policy, self.config.agent, self.config.name).manner
        return Engine(backend, pool, manner, retries=self.config.trainer.retries, limits=self.config.limits)

    def _rollout(self, policy: Policy, found: Checkpoint | None) -> Rollout:
        backend = HFBackend(policy, self.config.sampling)
        engine = self._engine(backend, self.config.env.config, policy)
        order = TaskOrder(self.config.env.id, self.train_tasks, self.config.trainer.group_size, self.config.seed)
        rollout = Rollout(engine, self.config.trainer.groups, self.config.schedule, order.group)
        if found is not None:
            backend.update_weights(found.update)
            if (state := found.rollout()) is not None:
                rollout.restore(state)
        return rollout

    def _save(self, policy: Policy, learner: Learner, done: int, rollout: State | None) -> None:
        checkpoint.save(
            self.folder / "checkpoints",
            done,
            policy,
            learner,
            {"config": self.config.model_dump()},
            rollout,
            self.config.trainer.keep_checkpoints,
        )

    def _facts(self, policy: Policy) -> dict[str, str]:
        config = self.config
        tasks = f"{len(self.train_tasks)} training tasks, {len(self.eval_tasks)} held out"
        episodes = f"{config.trainer.groups} tasks x {config.trainer.group_size} episodes"
        return {
            "policy": f"{policy.num_parameters / 1e6:.2f} M parameters, {config.model.path or config.model.preset}",
            "environment": f"{config.env.id}, {tasks}",
            "method": f"{config.credit.method}, {episodes}",
            "machine": f"{self.device}, {torch.get_num_threads()} threads",
        }

    @contextmanager
    def _timed(self, phase: str, total: int) -> Iterator[None]:
        self.listener.phase(phase, total)
        began = time.perf_counter()
        yield
        self.seconds[phase] = time.perf_counter() - began


def set_up_torch(threads: int | None, deterministic: bool) -> None:
    """Set how many CPU threads torch uses, and whether equal inputs must give equal bits."""
    torch.set_num_threads(threads or int(os.environ.get("OMP_NUM_THREADS", 0)) or len(os.sched_getaffinity(0)))
    torch.use_deterministic_algorithms(deterministic)


def versions() -> dict[str, str]:
    """Return versions of what results depend on."""
    return {
        name: metadata.version(name)
        for name in ("cairn-rl", "torch", "transformers", "tokenizers", "numpy", "gymnasium")
    }
