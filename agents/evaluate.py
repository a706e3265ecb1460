"""Run any agent on tasks of any environment and report its success: scripted agents, checkpoints, models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cairn.agents.agent import Agent, load_agent
from cairn.agents.collect import collect
from cairn.agents.engine import Engine
from cairn.agents.flight import Job
from cairn.agents.panel import Panel, Part, check_beginning, opened, task_seed
from cairn.agents.report import Report, summarise
from cairn.agents.serving.usage import Metered
from cairn.core.records import Episode, Task
from cairn.core.seeding import derive_seed
from cairn.envs.base import TextEnv
from cairn.envs.pool import EnvPool, PoolConfig
from cairn.envs.registry import make


def evaluate(
    agent: str,
    env: str,
    *,
    config: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    tasks: int | Sequence[str] = 100,
    seed: int = 0,
    temperature: float = 0.4,
    on_episode: Callable[[Episode], None] = lambda _: None,
) -> tuple[Report, list[Episode]]:
    """Play tasks once each and return the report and the episodes.

    Args:
        agent: a script such as ``oracle``, ``random`` or ``constant:TEXT``, ``openai:MODEL``, a run's folder, a
            checkpoint, or a model's folder or hub name; see `agents.agent.load_agent`.
        env: registered id.
        config: the environment's settings.
        settings: the agent's: tables ``agent`` and ``sampling``, on top of what is stored with it.
        tasks: ids, or how many from the start of the configured split.
        seed: of chance in the environment and in the agent.
        temperature: of sampling, for policies.
        on_episode: called with each finished episode.

    Raises:
        UnknownNameError: no such environment or task.
        ConfigError: the agent cannot be loaded, or a setting is wrong.
    """
    world = make(env, **(config or {}))
    names = list(world.tasks()[:tasks]) if isinstance(tasks, int) else list(tasks)
    return _played(load_agent(agent, settings), world, config or {}, _jobs(env, names, seed), temperature, on_episode)


def evaluate_panel(
    agent: str,
    panel: Panel,
    *,
    settings: Mapping[str, Any] | None = None,
    temperature: float = 0.4,
    on_episode: Callable[[Part, Episode], None] = lambda _, __: None,
) -> list[tuple[Part, Report, list[Episode]]]:
    """Play all of a panel and return each part's report and episodes; see `evaluate`.

    Raises:
        ConfigError: the panel's tasks are not the same here, or as `evaluate`.
    """
    worlds = [opened(part) for part in panel.parts]  # all of them before any is played
    loaded = load_agent(agent, settings)
    found = []
    for part, world in zip(panel.parts, worlds, strict=True):

        def heard(episode: Episode, part: Part = part) -> None:
            if episode.turns:
                check_beginning(part, episode.task.task_id, episode.turns[0].observation)
            on_episode(part, episode)

        jobs = _jobs(part.env, list(part.tasks), part.seed, part.attempts)
        played = _played(loaded, world, part.config, jobs, temperature, heard)
        found.append((part, *played))
    return found


def _jobs(env: str, names: Sequence[str], seed: int, attempts: int = 1) -> list[Job]:
    """Return every attempt at every task; those at one task are a group."""
    return [
        Job(
            task=Task(env_id=env, task_id=name, seed=task_seed(seed, name, attempt)),
            group_id=group,
            sample_seed=derive_seed(seed, "sample", name, *([attempt] if attempt else [])),
            member=attempt,
        )
        for attempt in range(attempts)
        for group, name in enumerate(names)
    ]


def _played(
    agent: Agent,
    world: TextEnv,
    config: Mapping[str, Any],
    jobs: Sequence[Job],
    temperature: float,
    on_episode: Callable[[Episode], None],
) -> tuple[Report, list[Episode]]:
    env = jobs[0].task.env_id if jobs else world.meta.name
    backend = agent.backend(slots=min(agent.sampling.slots, max(len(jobs), 1)), temperature=temperature)
    try:
        with EnvPool(env, config, PoolConfig(size=backend.num_slots)) as pool:
            episodes = collect(Engine(backend, pool, agent.manner), jobs, on_episode)
    finally:
        backend.close()
    report = summarise(episodes, world.task_type, world.can_solve)
    return replace(report, usage=backend.usage if isinstance(backend, Metered) else None), episodes
