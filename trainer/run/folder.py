"""The folder of one run: its checkpoints and the facts in its store, at the start and whenever it is resumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from cairn.agents.agent import prompt_hashes, require_same_prompts
from cairn.agents.evaluation.report import Report, name_tasks
from cairn.agents.models.policy import Policy
from cairn.agents.rollout.groups import State
from cairn.agents.trained_tasks import TrainedTasks
from cairn.core.errors import CairnError
from cairn.core.store import Recorder
from cairn.envs.base import EnvMeta
from cairn.trainer.config import RunConfig
from cairn.trainer.learner.learner import Learner
from cairn.trainer.run import checkpoint
from cairn.trainer.run.checkpoint import Checkpoint
from cairn.trainer.run.history import (
    changes,
    declarations,
    described,
    extended,
    history_of,
    refuse_late_changes,
    refuse_other_env,
    trained_tasks,
)
from cairn.trainer.run.result import versions
from cairn.trainer.run.task_split import TaskSplit

Note = Callable[[int, str, str], None]  # update, kind and text of an event


_LONGEST_REASON = 500  # characters


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """Reads and writes a run's folder under one configuration."""

    config: RunConfig
    path: Path
    store: Recorder
    env: EnvMeta  # declarations of the environment that is trained on
    note: Note
    accept_env_version: bool = False

    def newest_checkpoint(self) -> Checkpoint | None:
        """Return the newest intact checkpoint; the store then holds nothing later.

        Raises:
            ConfigError: the run cannot continue with this configuration; nothing has been changed.
            CairnError: the store has updates, and there is no intact checkpoint to continue from; likewise.
        """
        found, problems = checkpoint.latest(self.path / "checkpoints")
        if found is not None:
            self._refuse_changes(found)
        elif updates := [step for step, _ in self.store.series("return")]:
            what = "; ".join(problems) or "the folder has no checkpoint"
            raise CairnError(
                f"The run in {str(self.path)!r} has {max(updates)} stored updates and cannot continue: {what}. Put a "
                "checkpoint back. To start again, name another --folder, or delete this one with all that is stored"
            )
        for problem in problems:
            self.note(0 if found is None else found.update, "checkpoint", problem)
        self.store.forget_after(found.update if found is not None else -1)
        if found is not None:
            self.note(found.update, "resumed", f"resumed from {found.folder.name}")
        return found

    def reports(self, found: Checkpoint | None) -> dict[int, Report]:
        """Return the evaluations up to a checkpoint, by update."""
        stored = {} if found is None else self.store.meta().get("reports", {})
        try:
            numbered = {int(update): report for update, report in stored.items()}
        except ValueError as error:
            raise CairnError(f"The run's stored evaluations cannot be read: {error}") from error
        last = -1 if found is None else found.update
        return {update: Report.from_dict(report) for update, report in numbered.items() if update <= last}

    def store_facts(self, policy: Policy, split: TaskSplit, found: Checkpoint | None) -> None:
        """Store the settings, with the update from which they apply, and the facts that follow from them."""
        earlier = history_of(self.store.meta()) if found is not None else []
        history = extended(earlier, self.config, policy.version)
        if earlier and (differing := changes(earlier[-1]["config"], history[-1]["config"])):
            text = f"settings changed after update {policy.version}: {described(differing)}"
            self.note(policy.version, "settings", text)
        facts = {
            "config": self.config.model_dump(),
            "configs": history,
            "tasks": split.to_dict(),
            "declared": declarations(self.env),
            "prompts": prompt_hashes(self.config.agent),
            "versions": versions(),
            "parameters": policy.num_parameters,
            "trainable": policy.num_trainable,
        }
        self.store.set_meta(facts)
        for settings in (self.config.env.config, self.config.eval_env):
            self.store.environment(self.config.env.id, self.env.version, settings)

    def trained_tasks(self, split: TaskSplit) -> frozenset[str]:
        """Return the ids of the tasks that the run trains on, or has trained on under earlier settings."""
        return frozenset(trained_tasks(self.config.env.id, history_of(self.store.meta()), split.held_out))

    def save(
        self,
        policy: Policy,
        learner: Learner,
        trained: frozenset[str],
        rollout: State | None,
        more: Mapping[str, Any],  # Any: JSON
    ) -> None:
        """Write a checkpoint; `trained`: ids of the tasks trained on; `more`: further facts of the trainer."""
        self.store.flush()  # a run that continues from a checkpoint has all that led to it
        listed = TrainedTasks(
            env=self.config.env.id,
            tasks=trained,
            evaluation=self.config.eval_env,
        )
        state = {
            "config": self.config.model_dump(),
            "prompts": prompt_hashes(self.config.agent),
            "training": listed.to_dict(),
        }
        keep = self.config.trainer.keep_checkpoints
        folder = self.path / "checkpoints"
        saved = checkpoint.save(folder, policy.version, policy, learner, {**state, **more}, rollout, keep)
        self.store.checkpoint(policy.version, str(saved.relative_to(self.path)))

    def note_error(self, error: BaseException) -> None:
        """Store that the run was stopped by an exception."""
        text = str(error) if isinstance(error, CairnError) else f"{type(error).__name__}: {error}"
        self.note_end("stopped", "SIGINT, twice" if isinstance(error, KeyboardInterrupt) else text[:_LONGEST_REASON])

    def note_end(self, kind: str, reason: str) -> None:
        """Store how the run ended, unless the store is what failed; `kind`: finished or stopped."""
        with suppress(CairnError):
            updates = max((step for step, _ in self.store.series("return")), default=0)
            self.store.event(updates, kind, f"{kind.title()} after update {updates}{f': {reason}' if reason else ''}")
            self.store.flush()

    def _refuse_changes(self, found: Checkpoint) -> None:
        meta = self.store.meta()
        refuse_late_changes(meta, self.config, str(self.path))
        if not self.accept_env_version:
            refuse_other_env(meta, self.env.version, str(self.path), self.config.env.id)
        require_same_prompts(prompt_hashes(self.config.agent), found.state.get("prompts", {}), str(found.folder))


def run_summary(config: RunConfig, policy: Policy, split: TaskSplit, device: str) -> dict[str, str]:
    """Return a run's model, environment, method and machine in a line each, for people."""
    tasks = f"{len(split.train)} training tasks, {len(split.evaluation)} {name_tasks(split.training_share)}"
    episodes = f"{config.trainer.groups} tasks x {config.trainer.group_size} episodes"
    size = f"{policy.num_parameters / 1e6:.2f} M parameters"
    if policy.num_trainable < policy.num_parameters:
        size += f" ({policy.num_trainable / 1e6:.2f} M of them trained)"
    return {
        "policy": f"{size}, {config.model.path or config.model.preset}",
        "environment": f"{config.env.id}, {tasks}",
        "method": f"{config.credit.method}, {episodes}",
        "machine": f"{device}, {torch.get_num_threads()} threads",
    }
