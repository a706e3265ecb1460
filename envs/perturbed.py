"""An environment with perturbations: the same world, anchors and scores, other texts.

`registry.make` wraps an environment whose settings name perturbations, so that a pool's worker processes, panels and
runs, which build environments from an id and settings, need no special case. Perturbations apply to texts in
alphabetical order of their names, and to actions in reverse order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar

import gymnasium

from cairn.core.plugins import PERTURBATIONS
from cairn.core.records import Schema
from cairn.envs.base import Outcome, TextEnv, calls_of
from cairn.envs.perturbations.base import Perturbation

T = TypeVar("T")


class Perturbed(TextEnv):
    """A wrapper that applies perturbations to a `TextEnv`."""

    def __init__(self, plain: TextEnv) -> None:
        """Wrap `plain` with the perturbations of its settings.

        Raises:
            ConfigError: the environment does not support one of them.
        """
        self.plain = plain
        self.meta = plain.meta
        self.config, self.render_mode = plain.config, plain.render_mode
        self.action_space, self.observation_space = plain.action_space, plain.observation_space
        self._shown = ""
        self._perturbations = [_made(name, settings, plain) for name, settings in plain.config.perturb.items()]
        self._follow()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode; see `TextEnv.reset`."""
        gymnasium.Env.reset(self, seed=seed)  # required by Gymnasium's contract; the generator is not used
        text, info = self.plain.reset(seed=seed, options=options)
        self._begin(info["task_id"])
        return self._perturbed_text(text), self._perturbed_info(info)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Execute one action; see `TextEnv.step`."""
        if isinstance(action, str):  # the plain environment rejects anything else
            action = _changed(lambda call: self._each(lambda value, by: by.to_env(value), call, backwards=True), action)
        text, reward, terminated, truncated, info = self.plain.step(action)
        self._follow()
        return self._perturbed_text(text), reward, terminated, truncated, self._perturbed_info(info)

    def admissible(self) -> tuple[str, ...] | None:
        """Return the perturbed admissible actions."""
        actions = self.plain.admissible()
        return None if actions is None else self._each(lambda each, by: by.admissible(each), actions)

    def tools(self) -> tuple[Schema, ...]:
        """Return the perturbed tool schemas."""
        return self._each(lambda each, by: by.tools(each), self.plain.tools())

    def oracle(self, name: str | None = None) -> str:
        """Return the named oracle's next action, perturbed."""
        return _changed(lambda call: self._each(lambda value, by: by.to_agent(value), call), self.plain.oracle(name))

    def snapshot(self) -> tuple[Any, ...]:  # Any: the environment's own format
        """Return a snapshot of the episode for `restore`."""
        return (self._shown, self.plain.snapshot())

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Restore a snapshot of this or another instance with the same configuration."""
        self._shown, of_plain = snapshot
        self.plain.restore(of_plain)
        self._begin(self.plain.task_id)

    def render(self) -> str | None:
        """Return the last text in mode "ansi"."""
        return self._shown if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Close the plain environment."""
        self.plain.close()

    # -- unchanged methods of the plain environment -------------------------------------------------------------------

    def tasks(self) -> Sequence[str]:
        """Return the plain environment's tasks."""
        return self.plain.tasks()

    def has_task(self, task_id: str) -> bool:
        """Return whether `reset` accepts this id."""
        return self.plain.has_task(task_id)

    def task_type(self, task_id: str) -> str:
        """Return the task's type."""
        return self.plain.task_type(task_id)

    def difficulty(self, task_id: str) -> str:
        """Return the task's difficulty."""
        return self.plain.difficulty(task_id)

    def best_score(self, task_id: str) -> float:
        """Return the best score that any play of the task can reach."""
        return self.plain.best_score(task_id)

    def anchor(self) -> int:
        """Return the key of the true state, which is the plain environment's."""
        return self.plain.anchor()

    def state(self) -> bytes:
        """Return the true state."""
        return self.plain.state()

    def start(self, task_id: str, rng: random.Random) -> str:
        """Reset the plain world to the task's initial state, with an unperturbed text."""
        return self.plain.start(task_id, rng)

    def act(self, action: str) -> Outcome:
        """Execute an unperturbed action; `step` takes perturbed ones."""
        return self.plain.act(action)

    # -- helpers -------------------------------------------------------------------------------------------------------

    def _begin(self, task_id: str) -> None:
        for each in self._perturbations:
            each.begin(task_id)
        self._follow()

    def _follow(self) -> None:
        """Copy the plain environment's task id, turn and turn limit."""
        plain = self.plain
        self.task_id, self.turn, self.turn_limit = plain.task_id, plain.turn, plain.turn_limit

    def _perturbed_text(self, text: str) -> str:
        self._shown = self._each(lambda value, by: by.text(value), text)
        return self._shown

    def _perturbed_info(self, info: dict[str, Any]) -> dict[str, Any]:
        results = tuple(self._each(lambda value, by: by.text(value), text) for text in info["results"])
        return {**info, "admissible_actions": self.admissible(), "tools": self.tools(), "results": results}

    def _each(self, change: Callable[[T, Perturbation], T], value: T, *, backwards: bool = False) -> T:
        return reduce(change, self._perturbations[:: -1 if backwards else 1], value)


def _changed(change: Callable[[str], str], action: str) -> str:
    """Return an action, or each call of a list of calls, changed."""
    calls = calls_of(action)
    return change(action) if calls is None else f"[{', '.join(map(change, calls))}]"


def _made(name: str, settings: Mapping[str, Any], env: TextEnv) -> Perturbation:  # Any: its Config validates them
    found: Perturbation = PERTURBATIONS.build(name, settings, env)
    return found
