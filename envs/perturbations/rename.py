"""Renamed commands and functions, drawn for each task; the original names become unknown.

A command is swapped with one of its alternative names, both in texts about commands and at the start of actions, as
text or as a JSON call. So an unused name reaches the environment as an unknown name, and the reply contains the name
from the action.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from cairn.core.errors import ConfigError
from cairn.core.plugins import Plugin
from cairn.core.records import Schema
from cairn.core.seeding import python_generator
from cairn.envs.base import TextEnv
from cairn.envs.perturbations.base import Perturbation, PerturbationConfig
from cairn.envs.rephrasable import Rephrasable


class RenameConfig(PerturbationConfig):
    """Settings of renaming."""


class Rename(Perturbation):
    """Replaces the name of every command."""

    def __init__(self, config: PerturbationConfig, env: TextEnv) -> None:
        """Read the environment's command names."""
        super().__init__(config, env)
        self._rephrasable = env if isinstance(env, Rephrasable) else Rephrasable()
        self._others = self._rephrasable.command_names()
        if not self._others:
            raise ConfigError(
                f"perturb.rename: {env.meta.name!r} lists no command names. An environment with commands lists them, "
                "with alternatives, in `command_names` (docs/add_env.md)"
            )
        _check(self._others, env.meta.name)
        every = sorted([*self._others, *(name for names in self._others.values() for name in names)], key=len)
        either = "|".join(map(re.escape, every[::-1]))  # longest first
        self._head = re.compile(rf"\s*({either})(?!\w)")
        self._anywhere = re.compile(rf"(?<!\w)({either})(?!\w)")
        self._swap: dict[str, str] = {}

    def begin(self, task_id: str) -> None:
        """Draw the names for the task."""
        super().begin(task_id)
        rng = python_generator("rename", self.config.seed, task_id)
        drawn = {name: rng.choice(others) for name, others in self._others.items()}
        self._swap = {**drawn, **{new: old for old, new in drawn.items()}}

    def text(self, text: str) -> str:
        """Return a text with the new names in passages about commands."""
        return self._rephrasable.rename_commands(
            text, lambda passage: self._anywhere.sub(lambda found: self._other(found[0]), passage)
        )

    def admissible(self, actions: tuple[str, ...]) -> tuple[str, ...]:
        """Return the actions with the new names, sorted."""
        return tuple(sorted(map(self.to_agent, actions)))

    def tools(self, tools: tuple[Schema, ...]) -> tuple[Schema, ...]:
        """Return the tool schemas with the new names."""
        return tuple(
            {**each, "function": {**each["function"], "name": self._other(each["function"]["name"])}} for each in tools
        )

    def to_env(self, action: str) -> str:
        """Return an action with its first name, or the name of its JSON call, swapped."""
        called = _json_call(action)
        if called is not None:
            other = self._other(called["name"])
            return action if other == called["name"] else json.dumps({**called, "name": other})
        found = self._head.match(action)
        return action if found is None else f"{action[: found.start(1)]}{self._other(found[1])}{action[found.end(1) :]}"

    def to_agent(self, action: str) -> str:
        """Return the agent's version of an action; the swap of names is its own inverse."""
        return self.to_env(action)

    def _other(self, name: str) -> str:
        return self._swap.get(name, name)


def _json_call(action: str) -> dict[str, Any] | None:  # Any: JSON
    """Return the JSON object of an action if it is one with a name, else None."""
    if not action.lstrip().startswith("{"):
        return None
    try:
        call = json.loads(action)
    except (ValueError, RecursionError):  # hostile text; the environment replies to it
        return None
    return call if isinstance(call, dict) and isinstance(call.get("name"), str) else None


def _check(others: Mapping[str, tuple[str, ...]], env: str) -> None:
    every = [*others, *(name for names in others.values() for name in names)]
    if twice := sorted({name for name in every if every.count(name) > 1}):
        raise ConfigError(f"perturb.rename: {env!r} has the name {twice[0]!r} for two things; each must be for one")


PERTURBATION = Plugin(RenameConfig, Rename)
