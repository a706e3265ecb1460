"""Panels: fixed tasks of one or several environments, in one file with a hash.

A file has everything that results depend on: the version and settings of each environment, the tasks, the seed, the
attempts, and a key of each task's first observation. Results with equal panel hashes are of the same tasks. A file that
was edited by hand is rejected, and so is a task with another first observation on this machine than on the machine
where the panel was made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from pydantic import Field

from cairn.agents.evaluation.arguments import MOST_ATTEMPTS, chosen_tasks, whole_number
from cairn.core.config import Config, as_toml, build, read_toml
from cairn.core.errors import ConfigError, UnknownNameError
from cairn.core.keys import text_key, unsigned
from cairn.core.plugins import PERTURBATIONS
from cairn.core.records import Observation
from cairn.core.seeding import derive_seed
from cairn.envs.base import TextEnv
from cairn.envs.registry import closing_env, make, task_ids

_SETTINGS = ("family", "env", "version", "seed", "attempts", "may_differ")
FOLDER = Path(__file__).parents[2] / "configs" / "panels"


class PanelSection(Config):
    """Tasks of one environment."""

    family: str = Field(description="Under which name results are shown.")
    env: str = Field(description="Environment id.")
    version: int = Field(description="Of the environment.")
    config: dict[str, Any] = Field({}, description="The environment's settings.")  # Any: checked by the environment
    seed: int = Field(0, description="Of chance in the environment and in the agent.")
    attempts: int = Field(1, ge=1, description="At each task.")
    may_differ: bool = Field(False, description="Whether tasks may begin otherwise, as in another browser.")
    tasks: dict[str, str] = Field(description="Task ids, and a key of how each begins.")


class Panel(Config):
    """A versioned list of tasks."""

    name: str = Field(pattern=r"[a-z0-9][a-z0-9._-]*")
    version: int = Field(1, ge=1)
    summary: str
    hash: str = Field("", description="Of everything else; written by `cairn panels make`.")
    parts: tuple[PanelSection, ...] = Field(min_length=1)

    def content_hash(self) -> str:
        """Return the SHA-256 of all other fields, as 64 hex digits."""
        content = self.model_dump(mode="json", exclude={"hash"})
        return _sha256(content)

    def tasks_hash(self) -> str:
        """Return the SHA-256 of the tasks and how they are played, without perturbations."""
        words: dict[str, Any] = {"may_differ": True, "config": {"perturb"}}  # Any: pydantic's nested field names
        return _sha256(self.model_dump(mode="json", include={"parts"}, exclude={"parts": {"__all__": words}}))

    def sealed(self) -> Self:
        """Return a copy with its hash set."""
        return self.model_copy(update={"hash": self.content_hash()})


def names() -> list[str]:
    """Return the names of the panels that ship with Cairn."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def load_panel(name: str | Path) -> Panel:
    """Return a panel: one that ships with Cairn, by name, or one from a file.

    Raises:
        UnknownNameError: there is no such panel.
        ConfigError: the file is not a panel or was changed since it was made.
    """
    file = Path(name) if str(name).endswith(".toml") else FOLDER / f"{name}.toml"
    if not str(name).endswith(".toml") and str(name) not in names():
        raise UnknownNameError("panel", str(name), names(), "cairn panels list")
    panel = build(Panel, read_toml(file), str(file))
    if panel.hash != (wanted := panel.content_hash()):
        raise ConfigError(
            f"{str(file)!r} was changed since it was made: its hash is {panel.hash[:12]!r}, its content's "
            f"{wanted[:12]!r}. Make another (cairn panels make), so that results of the two are not mixed up"
        )
    return panel


def make_panel(
    name: str, summary: str, parts: Sequence[PanelSection], on_task: Callable[[str], None] = lambda _: None
) -> Panel:
    """Return a panel with the key of each task's first observation; existing keys are ignored."""
    return Panel(name=name, summary=summary, parts=tuple(_begun(part, on_task) for part in parts)).sealed()


def tasks_panel(
    env: str, config: Mapping[str, Any], tasks: int | Sequence[str], seed: int = 0, attempts: int = 1
) -> Panel:  # Any: the environment's own
    """Return a temporary panel: tasks of an environment, by id or number from the split's start.

    Raises:
        UnknownNameError: no such environment.
        ConfigError: it has no such task, or an argument is wrong.
    """
    seed, attempts = whole_number("seed", seed), whole_number("attempts", attempts, 1, MOST_ATTEMPTS)
    with closing_env(make(env, **config)) as world:
        names = chosen_tasks(task_ids(world), tasks)
        version = world.meta.version
    part = PanelSection(
        family=env, env=env, version=version, config=dict(config), seed=seed, attempts=attempts, may_differ=True,
        tasks=dict.fromkeys(names, ""),
    )  # fmt: skip
    name = re.sub(r"[^a-z0-9._-]+", "-", env.lower()).strip("-._")
    return Panel(name=name or "tasks", summary=f"{len(names)} tasks of {env}", parts=(part,)).sealed()


def perturbed_panel(panel: Panel, *perturbations: str) -> Panel:
    """Return a panel of the same tasks under perturbations, with a new name and hash.

    The perturbations have their default settings. First observations are not compared.

    Raises:
        UnknownNameError: there is no such perturbation.
    """
    for name in perturbations:
        PERTURBATIONS.load(name)
    names = "-".join(sorted(perturbations))
    override: dict[str, Any] = {"perturb": {name: {} for name in sorted(perturbations)}}  # Any: settings
    parts = tuple(
        part.model_copy(update={"config": {**part.config, **override}, "may_differ": True}) for part in panel.parts
    )
    summary = f"{panel.summary} Perturbed: {', '.join(sorted(perturbations))}."
    return panel.model_copy(update={"name": f"{panel.name}.{names}", "summary": summary, "parts": parts}).sealed()


def with_attempts(panel: Panel, attempts: int) -> Panel:
    """Return a panel with this many attempts per task, with a new name and hash.

    Returns the panel itself if it already has that many.
    """
    if all(part.attempts == attempts for part in panel.parts):
        return panel
    parts = tuple(part.model_copy(update={"attempts": attempts}) for part in panel.parts)
    summary = f"{panel.summary} Attempts at each task: {attempts}."
    return panel.model_copy(update={"name": f"{panel.name}.x{attempts}", "summary": summary, "parts": parts}).sealed()


def spread(tasks: Sequence[str], count: int) -> list[str]:
    """Return at most `count` tasks, evenly spaced."""
    count = min(count, len(tasks))
    return [tasks[i * len(tasks) // count] for i in range(count)]


def open_env(part: PanelSection) -> TextEnv:
    """Return a part's environment.

    Raises:
        ConfigError: the environment has another version, or lacks one of the tasks here.
    """
    env = make(part.env, **part.config)
    if env.meta.version != part.version:
        raise ConfigError(
            f"The panel is of version {part.version} of {part.env!r}; this is version {env.meta.version}. Results of "
            "the two are not of the same tasks"
        )
    if missing := [task for task in part.tasks if not env.has_task(task)]:
        raise ConfigError(
            f"{part.env!r} has no task {missing[0]!r} here; {len(missing)} of the panel's {len(part.tasks)} are "
            "missing. Is CAIRN_DATA set? cairn doctor lists the data that is found"
        )
    return env


def task_seed(seed: int, task_id: str, attempt: int = 0) -> int:
    """Return the environment's seed for an attempt at a task."""
    return derive_seed(seed, "evaluate", task_id, *([attempt] if attempt else [])) % 2**31


def beginning(observation: Observation) -> str:
    """Return the key of a task's beginning: its first observation and its state."""
    return f"{text_key(observation.text, observation.anchor):016x}"


def check_beginning(part: PanelSection, task_id: str, observation: Observation) -> None:
    """Check that a task begins as on the machine where the panel was made, unless it may differ.

    Raises:
        ConfigError: it begins differently.
    """
    if not part.may_differ and beginning(observation) != part.tasks[task_id]:
        raise ConfigError(
            f"Task {task_id!r} of {part.env!r} begins otherwise here than where the panel was made: from other data? "
            "Results would not be of the same tasks"
        )


def write_panel(panel: Panel, file: Path) -> None:
    """Write a panel as TOML."""
    lines = [f"{key} = {as_toml(getattr(panel, key))}" for key in ("name", "version", "summary", "hash")]
    for part in panel.parts:
        lines += ["", "[[parts]]"]
        lines += [f"{key} = {as_toml(getattr(part, key))}" for key in _SETTINGS]
        lines += ["[parts.config]", *(f"{as_toml(key)} = {as_toml(value)}" for key, value in part.config.items())]
        lines += ["[parts.tasks]", *(f"{as_toml(key)} = {as_toml(value)}" for key, value in part.tasks.items())]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


# -- helpers -----------------------------------------------------------------------------------------------------------


def _sha256(content: Mapping[str, Any]) -> str:  # Any: JSON
    return sha256(json.dumps(content, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _begun(part: PanelSection, on_task: Callable[[str], None]) -> PanelSection:
    keys: dict[str, str] = {}
    with closing_env(make(part.env, **part.config)) as env:
        version = env.meta.version
        for name in part.tasks:
            text, info = env.reset(seed=task_seed(part.seed, name), options={"task": name})
            keys[name] = beginning(Observation(text=text, anchor=unsigned(info["anchor"])))
            on_task(name)
    return part.model_copy(update={"version": version, "tasks": keys})
