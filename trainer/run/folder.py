"""The folder of one run: its checkpoints and stored facts, at the start and on each resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
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
    env: EnvMeta  # declarations of the training environment
    note: Note
    accept_env_version: bool = False

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The hashes of the prompts' texts, read once."""
        return prompt_hashes(self.config.agent)

    def newest_checkpoint(self) -> Checkpoint | None:
        """Return the newest intact checkpoint, and delete later entries of the store.

        Raises:
            ConfigError: the run cannot continue with this configuration; nothing was changed.
            CairnError: the store has updates, and no intact checkpoint exists; nothing was changed.
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
        """Store the settings, the update from which they apply, and the facts derived from them."""
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
            "prompts": self.prompts,
            "versions": versions(),
            "parameters": policy.num_parameters,
            "trainable": policy.num_trainable,
        }
        self.store.set_meta(facts)
        for settings in (self.config.env.config, self.config.eval_env):
            self.store.environment(self.config.env.id, self.env.version, settings)

    def trained_tasks(self, split: TaskSplit) -> frozenset[str]:
        """Return the ids of the run's training tasks, including those of earlier settings."""
        return frozenset(trained_tasks(self.config.env.id, history_of(self.store.meta()), split.held_out))

    def save(
        self,
        policy: Policy,
        learner: Learner,
        trained: frozenset[str],
        rollout: State | None,
        more: Mapping[str, Any],  # Any: JSON
    ) -> None:
        """Write a checkpoint.

        `trained`: ids of the training tasks; `more`: further facts of the trainer.
        """
        self.store.flush()  # the store must hold all updates up to the checkpoint
        listed = TrainedTasks(
            env=self.config.env.id,
            tasks=trained,
            evaluation=self.config.eval_env,
        )
        state = {
            "config": self.config.model_dump(),
            "prompts": self.prompts,
            "training": listed.to_dict(),
        }
        keep = self.config.trainer.keep_checkpoints
        folder = self.path / "checkpoints"
        saved = checkpoint.save(folder, policy.version, policy, learner, {**state, **more}, rollout, keep)
        self.store.checkpoint(policy.version, str(saved.relative_to(self.path)))

    def note_error(self, error: BaseException) -> None:
        """Store that an exception stopped the run."""
        text = str(error) if isinstance(error, CairnError) else f"{type(error).__name__}: {error}"
        self.note_end("stopped", "SIGINT, twice" if isinstance(error, KeyboardInterrupt) else text[:_LONGEST_REASON])

    def note_end(self, kind: str, reason: str) -> None:
        """Store the end of the run, unless the store itself failed; `kind`: finished or stopped."""
        with suppress(CairnError):
            updates = max((step for step, _ in self.store.series("return")), default=0)
            self.store.event(updates, kind, f"{kind.title()} after update {updates}{f': {reason}' if reason else ''}")
            self.store.flush()

    def _refuse_changes(self, found: Checkpoint) -> None:
        meta = self.store.meta()
        refuse_late_changes(meta, self.config, str(self.path))
        if not self.accept_env_version:
            refuse_other_env(meta, self.env.version, str(self.path), self.config.env.id)
        require_same_prompts(self.prompts, found.state.get("prompts", {}), str(found.folder))


def run_summary(config: RunConfig, policy: Policy, split: TaskSplit, device: str) -> dict[str, str]:
    """Return a run's model, environment, method and machine in one line each, for users."""
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
