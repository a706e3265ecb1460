"""The training loop: warm start, then updates of rollout, credit and loss, with evaluations.

Exactly on-policy unless `schedule` allows asynchronous episodes: all episodes of an update are sampled with the weights
that it changes. All randomness derives from the run's seed and the update's number, so that a resumed run draws the
same random numbers as an undisturbed one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import torch

from cairn.agents.agent import policy_interface, require_template
from cairn.agents.evaluation.report import Report, summarise
from cairn.agents.models.policy import Policy, load_policy, load_pretrained
from cairn.agents.rollout.episode import PolicyInterface
from cairn.agents.rollout.groups import State, without_episodes
from cairn.agents.rollout.source import EpisodeSource
from cairn.core.errors import CairnError, DivergedError
from cairn.core.folders import new_folder, writing_to
from cairn.core.plugins import BACKENDS
from cairn.core.records import Episode
from cairn.core.seeding import derive_seed
from cairn.core.store import Recorder
from cairn.envs.registry import closing_env, make, task_ids
from cairn.trainer.assign_credit import CreditAssigner
from cairn.trainer.build import build_cluster, build_learner, build_recorder, build_rollout
from cairn.trainer.callbacks import Callback, PhaseTimer
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.engine import nothing_fits, require_few_failures
from cairn.trainer.evaluation import EvaluationStopped, play_evaluation, report_metrics
from cairn.trainer.guards import Action, Alert, CollapseDetector, PolicyCollapse
from cairn.trainer.hardware import Hardware, set_up_torch
from cairn.trainer.interrupt import Interrupt
from cairn.trainer.learner.learner import Learner
from cairn.trainer.pretrained import pretrained_notes
from cairn.trainer.run.checkpoint import Checkpoint, latest, restore_learner
from cairn.trainer.run.folder import RunFolder, run_summary
from cairn.trainer.run.history import refuse_another_run
from cairn.trainer.run.result import Run
from cairn.trainer.run.task_split import TaskSplit, split_run_tasks
from cairn.trainer.samplers.shuffled import TaskSampler
from cairn.trainer.sft import Imitation, demonstrations, environment_texts
from cairn.trainer.tracking import Tracking, build_trackers
from cairn.trainer.update import PolicyUpdate

if TYPE_CHECKING:
    from cairn.trainer.cluster.actors import Cluster


def train(
    config: str | Path | Mapping[str, Any] | RunConfig,
    overrides: Mapping[str, Any] | None = None,
    *,
    folder: str | Path | None = None,
    callback: Callback | None = None,
    resume: bool = False,
    accept_env_version: bool = False,
) -> Run:
    """Train with a configuration, in a new folder under ``runs/`` unless `folder` is given.

    A `folder` that already holds a run with this configuration continues from its newest intact checkpoint. Ctrl-C
    stops at the next point that can be saved (the end of an update or of a batch of the warm start); a second Ctrl-C
    stops at once.

    Args:
        config: a TOML file, the name of a shipped run, tables, or a checked configuration.
        overrides: settings that override it, by dotted name.
        folder: the run's folder.
        callback: receives the progress.
        resume: continue the run in `folder` even if settings have changed. The store keeps each configuration with the
            update from which it applies. Settings that only apply at the start of a run may not change.
        accept_env_version: continue even if the environment's version has changed since the run began.

    Raises:
        ConfigError: the configuration is invalid, or `folder` holds a run with another configuration.
        CairnError: too many episodes failed, or a file cannot be written.
    """
    settings = config if isinstance(config, RunConfig) else load_run_config(config, overrides)
    if not settings.cluster.workers:  # else only the workers need the packages
        BACKENDS.load(settings.sampling.method).check_installed()
    begun = f"{settings.name}-{datetime.now():%Y%m%d-%H%M%S}"
    path = Path(folder) if folder is not None else new_folder(Path("runs") / begun, "a run")
    with ExitStack() as stack:
        stack.enter_context(writing_to(path, "a run"))
        trackers = build_trackers(settings, path)
        tracked = stack.enter_context(Tracking(trackers, callback or Callback()))
        cluster = stack.enter_context(build_cluster(settings, tracked.on_note)) if settings.cluster.is_used else None
        store = build_recorder(settings, path / "run.sqlite", stack, cluster)
        if not resume:
            refuse_another_run(store.meta(), settings, str(path))
        return Trainer(settings, path, store, tracked, cluster, accept_env_version=accept_env_version).run()


class Trainer:
    """The parts of one run and its training loop."""

    def __init__(
        self,
        config: RunConfig,
        folder: Path,
        store: Recorder,
        callback: Callback,
        cluster: Cluster | None = None,
        *,
        accept_env_version: bool = False,
    ) -> None:
        set_up_torch(config.trainer.threads, config.trainer.deterministic)
        self.config, self.folder, self.store, self.callback, self.cluster = config, folder, store, callback, cluster
        self.env = make(config.env.id, **config.env.config)
        self.eval_env = make(config.env.id, **config.eval_env)
        self.credit = CreditAssigner(config, self.env.meta)
        self.tasks = self._split(None)
        self.files = RunFolder(
            config=config,
            path=folder,
            store=store,
            env=self.env.meta,
            note=self._note,
            accept_env_version=accept_env_version,
        )
        # Else it only stores the state: a GPU that an actor uses has no room for a second learner.
        self.device = "cuda" if torch.cuda.is_available() and config.trainer_computes else "cpu"
        self.reports: dict[int, Report] = {}
        self.timer = PhaseTimer(callback)
        self.hardware = Hardware()
        self.trained_tasks: frozenset[str] = frozenset()  # with those of earlier settings, once the run has begun
        self.lookout = CollapseDetector(config.guards, store.series)  # made again after a rollback
        self.rollbacks = 0  # times that the run went back to a checkpoint
        self.num_tokens = 0  # tokens of the updates' episodes so far
        self.interrupt = Interrupt(callback.on_note)

    def run(self) -> Run:
        """Train to the end or to an interruption, record the end in the store, return the result."""
        with self.interrupt, closing_env(self.env), closing_env(self.eval_env):
            try:
                run = self._run()
            except BaseException as error:  # raised again
                self.files.note_error(error)
                raise
            self.files.note_end(*(("finished", "") if run.is_finished else ("stopped", self.interrupt.signal)))
            return run

    def _run(self) -> Run:
        while True:
            self.rollbacks = len(self.store.meta().get("rollbacks", ()))
            checkpoint = self.files.newest_checkpoint()
            self.reports = self.files.reports(checkpoint)
            try:
                return self._train_from(checkpoint)
            except PolicyCollapse as collapse:
                self._roll_back(collapse)
            except DivergedError as error:  # handled like a spike: the run cannot continue with these weights
                action: Action = "roll back" if self.config.guards.spikes == "roll back" else "stop"
                update = max((step for step, _ in self.store.series("return")), default=0)
                self._roll_back(PolicyCollapse(update, Alert("spikes", action, str(error))))

    def _train_from(self, checkpoint: Checkpoint | None) -> Run:
        """Train to the end from a checkpoint, or from the start, and return the run."""
        self.tasks = self._split(checkpoint)
        policy = self._policy(checkpoint)
        interface = policy_interface(self.config.agent, policy)
        self.callback.on_start(self.folder, run_summary(self.config, policy, self.tasks, self.device))
        self.files.store_facts(policy, self.tasks, checkpoint)
        self.trained_tasks = self.files.trained_tasks(self.tasks)
        for note in pretrained_notes(self.config) if checkpoint is None else ():
            self._note(0, "warning", note)
        imitating = checkpoint is not None and "imitation" in checkpoint.state
        if (checkpoint is None or imitating) and not self._warm_start(policy, interface, checkpoint):
            return Run(self.folder, self.reports, is_finished=False)
        is_new, done = checkpoint is None or imitating, policy.version
        is_evaluated = done in self.reports or not self._evaluates_after(done)
        if not is_new and done >= self.config.trainer.updates and is_evaluated:
            note = f"Nothing is left to do: the run has {done} updates. To continue, set trainer.updates to more"
            self.callback.on_note(note)
            return Run(self.folder, self.reports)
        learner = self._learner(policy, None if is_new else checkpoint)  # the current weights are its masters
        self.num_tokens = 0
        self.lookout = CollapseDetector(self.config.guards, self.store.series)
        # The rollout is built before the first evaluation, so that their back ends can share resources.
        with closing(learner), closing(self._rollout(policy, interface, None if is_new else checkpoint)) as rollout:
            if self._evaluates_after(done) and done not in self.reports:
                self._evaluate(policy, interface)
            if is_new:
                self._save(policy, learner, None)
            parts = PolicyUpdate(
                config=self.config, rollout=rollout, credit=self.credit, learner=learner, timer=self.timer
            )
            while done < self.config.trainer.updates and not self.interrupt.is_asked:
                metrics = self._update(done, parts)
                done += 1
                self._look_for_collapse(done, metrics)
                self._evaluate_and_save(policy, interface, learner, rollout)
        return Run(self.folder, self.reports, is_finished=done == self.config.trainer.updates and done in self.reports)

    # -- one update -------------------------------------------------------------------------------------------------

    def _update(self, number: int, parts: PolicyUpdate) -> dict[str, float]:
        """Make an update and store its results."""
        self.timer.seconds.clear()
        result = parts.run(number, derive_seed(self._seed, "learn", number))
        if result.is_empty:
            self._note(number + 1, "nothing learned", nothing_fits(self.config, number + 1, len(result.scored)))
        before, self.num_tokens = self.num_tokens, parts.rollout.tokens_processed  # with those since the last update
        tokens = self.num_tokens - before
        metrics = {
            **result.metrics,
            "tokens": float(tokens),
            **parts.rollout.metrics(),
            **({} if self.cluster is None else {"replaced": float(self.cluster.replaced)}),
            "rollbacks": float(self.rollbacks),
            **self.callback.counts(),
            **{f"seconds/{phase}": seconds for phase, seconds in self.timer.seconds.items()},
            "tokens_per_second": tokens / sum(self.timer.seconds.values()),
            **self.hardware.metrics(),
        }
        kinds = [self.env.task_type(e.task.task_id) for e in result.scored]
        credit = {self.config.credit.method: result.advantages.tolist()}
        self.store.add(number + 1, metrics, result.scored, task_types=kinds, advantages=credit)
        self.store.add(number + 1, {}, result.failed, task_types=[""] * len(result.failed))
        self.callback.on_update(number + 1, metrics)
        return metrics

    def _evaluates_after(self, done: int) -> bool:
        return done in (0, self.config.trainer.updates) or done % self.config.eval.every == 0

    def _evaluate_and_save(
        self, policy: Policy, interface: PolicyInterface, learner: Learner, rollout: EpisodeSource
    ) -> None:
        done = policy.version
        if self._evaluates_after(done) and not self.interrupt.is_asked:  # else after the run is resumed
            self._evaluate(policy, interface)
        is_last = done == self.config.trainer.updates
        if is_last or self.interrupt.is_asked or done % self.config.trainer.checkpoint_every == 0:
            self._save(policy, learner, rollout.state_dict())

    # -- collapse ---------------------------------------------------------------------------------------------------

    def _look_for_collapse(self, update: int, metrics: Mapping[str, float]) -> None:
        for alarm in self.lookout.check(update, metrics):
            if alarm.action != "warn":
                raise PolicyCollapse(update, alarm)
            self._note(update, "warning", f"warning: after update {update}: {alarm.what}")

    def _roll_back(self, collapse: PolicyCollapse) -> None:
        """Prepare to resume from the newest checkpoint with other random numbers and a lower rate.

        Raises:
            CairnError: the action is to stop, there is no checkpoint, or the run has rolled back too often.
        """
        checkpoint, _ = latest(self.folder / "checkpoints")
        if collapse.alarm.action == "stop" or checkpoint is None or self.rollbacks >= self.config.guards.max_rollbacks:
            back = "" if checkpoint is None else f"; checkpoint {checkpoint.folder.name} is from before it"
            raise CairnError(
                f"Stopped {collapse}{back}. Continue with other settings: "
                f"cairn train --resume {quote(str(self.folder))} --set learner.optimizer.lr=..."
            ) from collapse
        before = self.store.meta().get("rollbacks", [])
        self.store.set_meta(
            {"rollbacks": [*before, {"after": collapse.update, "to": checkpoint.update, "why": str(collapse)}]}
        )
        self._note(checkpoint.update, "going back", f"going back: {collapse}")

    @property
    def _seed(self) -> int:
        """The random seed of training; it changes with each rollback."""
        return derive_seed(self.config.seed, "rollback", self.rollbacks) if self.rollbacks else self.config.seed

    # -- set-up, evaluation and checkpoints -------------------------------------------------------------------------

    def _split(self, checkpoint: Checkpoint | None) -> TaskSplit:
        meta = None if checkpoint is None else self.store.meta()
        return split_run_tasks(self.config, task_ids(self.env), task_ids(self.eval_env), meta)

    def _policy(self, checkpoint: Checkpoint | None) -> Policy:
        if checkpoint is not None:
            policy = load_pretrained(str(checkpoint.folder), self.config.model.dtype, self.device)
            policy.version = checkpoint.update
            return policy
        policy = load_policy(
            self.config.model,
            lambda: environment_texts(self.config, self.tasks.train),
            self.config.seed,
            self.device,
        )
        require_template(self.config.agent, policy)
        return policy

    def _learner(self, policy: Policy, checkpoint: Checkpoint | None) -> Learner:
        learner = build_learner(self.config, policy, self.cluster, self.callback.on_note)
        learner.rate_scale = self.config.guards.rollback_rate**self.rollbacks
        if checkpoint is not None:
            restore_learner(checkpoint, learner)
        return learner

    def _warm_start(self, policy: Policy, interface: PolicyInterface, checkpoint: Checkpoint | None) -> bool:
        """Train on demonstrations, from the checkpoint of an interrupted warm start if there is one.

        Return whether the warm start is complete: an interruption ends it at the next batch, with a checkpoint.
        """
        config = self.config.imitation
        if config.episodes == 0:
            return True
        with self.timer.phase("demonstrate", config.episodes):
            episodes = demonstrations(
                self.config,
                interface.new_context,
                self._demonstrated,
                self.tasks.held_out,
                lambda: self.interrupt.is_asked,
            )
        if self.interrupt.is_asked:
            return False
        if not episodes:
            raise CairnError(f"imitation.oracle: {config.oracle!r} solved none of {config.episodes} tasks")
        imitation = Imitation(policy, episodes, config, self.config, self.callback.on_note)
        if checkpoint is not None:
            restore_learner(checkpoint, imitation.learner)
            imitation.load_state_dict(checkpoint.state["imitation"])
        with self.timer.phase("imitate", config.epochs):
            for epoch, metrics in enumerate(imitation.passes(lambda: self.interrupt.is_asked), imitation.epoch + 1):
                self.callback.on_sft_epoch(epoch, metrics)
                self.store.add(0, {f"imitation/{name}": value for name, value in metrics.items()})
        if not imitation.is_finished:
            self._save(policy, imitation.learner, None, imitation=imitation.state_dict())
        return imitation.is_finished

    def _demonstrated(self, episode: Episode) -> None:
        self.callback.on_advance(1)
        if episode.is_failed:
            self._note(0, "failed", f"a demonstration of task {episode.task.task_id!r} failed: {episode.ending.detail}")

    def _evaluate(self, policy: Policy, interface: PolicyInterface) -> None:
        done, tasks = policy.version, self.tasks.evaluation
        try:
            with self.timer.phase("evaluate", len(tasks)):
                episodes = play_evaluation(
                    self.config, policy, interface, tasks, self.callback, lambda: self.interrupt.is_asked
                )
        except EvaluationStopped:
            return
        require_few_failures(self.config, episodes)
        env, share = self.eval_env, self.tasks.training_share
        report = self.reports[done] = summarise(episodes, env.task_type, env.can_solve, share)
        kinds = [env.task_type(e.task.task_id) for e in episodes]
        self.store.add(done, report_metrics(report), episodes, phase="eval", task_types=kinds)
        self.store.set_meta({"reports": {str(n): r.to_dict() for n, r in self.reports.items()}})
        self.callback.on_evaluation(done, report)

    def _order(self) -> TaskSampler:
        return TaskSampler(self.config.env.id, self.tasks.train, self.config.trainer.group_size, self._seed)

    def _rollout(self, policy: Policy, interface: PolicyInterface, checkpoint: Checkpoint | None) -> EpisodeSource:
        order = self._order()
        rollout = build_rollout(self.config, policy, interface, self.cluster, order)
        if checkpoint is not None and (state := checkpoint.rollout()) is not None:
            if checkpoint.state.get("order", order.key) != order.key:  # its groups in flight belong to another order
                self._note(
                    checkpoint.update, "dropped", "episodes in flight were dropped: tasks, seed or group size changed"
                )
                state = without_episodes(state)
            rollout.load_state_dict(state)
        return rollout

    def _save(self, policy: Policy, learner: Learner, rollout: State | None, **more: Any) -> None:  # Any: JSON
        self.files.save(policy, learner, self.trained_tasks, rollout, {"order": self._order().key, **more})

    def _note(self, step: int, kind: str, text: str) -> None:
        self.store.event(step, kind, text)
        self.callback.on_note(text)
