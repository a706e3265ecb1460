"""The training tasks of a policy, from its checkpoint.

Evaluations report how many training tasks they include.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from cairn.agents.stored_settings import env_of
from cairn.core.errors import ConfigError
from cairn.envs.registry import list_tasks


@dataclass(frozen=True, kw_only=True)
class TrainedTasks:
    """The training tasks of one environment."""

    env: str  # registered id, or package.module:Class
    tasks: frozenset[str]  # ids under all training settings; without held-out tasks
    evaluation: Mapping[str, Any]  # Any: the environment's settings in evaluations of the run

    @classmethod
    def from_checkpoint(cls, state: Mapping[str, Any]) -> TrainedTasks | None:  # Any: JSON
        """Return the training tasks in a checkpoint; None: it lists none."""
        kept = state.get("training")
        if not isinstance(kept, Mapping) or "tasks" not in kept:  # earlier versions of Cairn stored settings instead
            return None
        return cls(env=str(kept["env"]), tasks=frozenset(kept["tasks"]), evaluation=dict(kept["evaluation"]))

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Return the training tasks as JSON-ready tables."""
        return {"env": self.env, "tasks": sorted(self.tasks), "evaluation": dict(self.evaluation)}

    def among(self, env: str, tasks: Collection[str]) -> int:
        """Return how many of an environment's tasks are training tasks."""
        return len(self.tasks.intersection(tasks)) if env == self.env else 0

    def unseen(self, env: str, config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:  # Any: settings
        """Return evaluation settings, with `config` merged over them, and their held-out tasks.

        Raises:
            ConfigError: the policy was trained in another environment, or on every task; or the checkpoint's settings
                of evaluation name modules or servers.
        """
        if env != self.env:
            raise ConfigError(f"--held-out: the agent was trained in {self.env!r}, not in {env!r}")
        settings = env_of(self.evaluation, config, "the agent's checkpoint")
        found = [task for task in list_tasks(env, settings) if task not in self.tasks]
        if not found:
            raise ConfigError("--held-out: the agent was trained on every task of these settings; leave the flag out")
        return settings, found
