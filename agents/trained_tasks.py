"""The tasks that a policy was trained on, as its checkpoint lists them: evaluations report how many they include."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cairn.core.config import merge
from cairn.core.errors import ConfigError
from cairn.envs.registry import make, task_ids


@dataclass(frozen=True, kw_only=True)
class TrainedTasks:
    """The training tasks of one environment."""

    env: str  # registered id, or package.module:Class
    settings: Sequence[Mapping[str, Any]]  # Any: the environment's; all under which the policy was trained
    held_out: frozenset[str]  # tasks that these settings list and that were not trained on
    evaluation: Mapping[str, Any]  # Any: as above; settings under which the run evaluates

    @classmethod
    def from_checkpoint(cls, state: Mapping[str, Any]) -> TrainedTasks | None:  # Any: JSON
        """Return the training tasks that a checkpoint names; None: it names none."""
        kept = state.get("training")
        if not isinstance(kept, Mapping):
            return None
        return cls(
            env=str(kept["env"]),
            settings=tuple(kept["settings"]),
            held_out=frozenset(kept["held_out"]),
            evaluation=dict(kept["evaluation"]),
        )

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Return it JSON-ready."""
        settings = [dict(each) for each in self.settings]
        own = {"env": self.env, "settings": settings, "held_out": sorted(self.held_out)}
        return own | {"evaluation": dict(self.evaluation)}

    def among(self, env: str, tasks: Collection[str]) -> int:
        """Return how many of an environment's tasks are training tasks.

        Only an environment that the caller names is loaded, never one that a file names.
        """
        return len(self._trained().intersection(tasks)) if env == self.env else 0

    def unseen(self, env: str, config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:  # Any: settings
        """Return settings to evaluate under, with `config` on top, and the tasks that they list beside training's.

        Raises:
            ConfigError: the policy was trained in another environment, or on every task.
        """
        if env != self.env:
            raise ConfigError(f"--held-out: the agent was trained in {self.env!r}, not in {env!r}")
        settings = merge(self.evaluation, config)
        trained = self._trained()
        found = [task for task in task_ids(make(env, **settings)) if task not in trained]
        if not found:
            raise ConfigError("--held-out: the agent was trained on every task of these settings; leave the flag out")
        return settings, found

    def _trained(self) -> set[str]:
        return {task for settings in self.settings for task in task_ids(make(self.env, **settings))} - self.held_out
