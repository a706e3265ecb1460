"""Plays any agent on tasks of any environment, in memory.

Agents are scripts, checkpoints or models. `agents.evaluation.evaluate` plays a panel and stores the episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from cairn.agents.agent import Agent, load_agent
from cairn.agents.backends.http.usage import Metered, TokenUsage
from cairn.agents.code_agent import AgentCode
from cairn.agents.evaluation.arguments import chosen_tasks, sampling_temperature, whole_number
from cairn.agents.evaluation.panel import PanelSection, task_seed
from cairn.agents.evaluation.report import Report, summarise
from cairn.agents.rollout.engine import Engine, collect
from cairn.agents.rollout.episode import Job
from cairn.core.config import Config
from cairn.core.records import Episode, Task
from cairn.core.seeding import derive_seed
from cairn.envs.pool.pool import EnvPool, PoolConfig
from cairn.envs.registry import closing_env, make, task_ids


class Pace(Config):
    """Speed settings of an evaluation; they do not affect the result."""

    slots: int | None = Field(None, ge=1, description="Episodes in flight; None: as many as the agent's settings say.")
    processes: bool = Field(False, description="Each environment in a process of its own.")


def play_tasks(
    agent: str | AgentCode,
    env: str,
    *,
    config: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    tasks: int | Sequence[str] = 100,
    seed: int = 0,
    temperature: float = 0.4,
    on_episode: Callable[[Episode], None] = lambda _: None,
) -> tuple[Report, list[Episode]]:
    """Play each task once and return the report and the episodes.

    Args:
        agent: a script such as ``oracle``, ``random`` or ``constant:TEXT``, ``openai:MODEL``, a run's folder, a
            checkpoint, or a model's folder or hub name; see `agents.agent.load_agent`.
        env: registered id.
        config: the environment's settings.
        settings: the agent's settings: tables ``agent`` and ``sampling``, merged over its stored ones.
        tasks: ids, or a number of tasks from the start of the configured split.
        seed: seed of the environment and the agent.
        temperature: sampling temperature, for policies.
        on_episode: called with each finished episode.

    Raises:
        UnknownNameError: no such environment or task.
        ConfigError: the agent cannot be loaded, or a setting is wrong.
    """
    seed, temperature = whole_number("seed", seed), sampling_temperature(temperature)
    config = dict(config or {})
    with closing_env(make(env, **config)) as world:
        names = chosen_tasks(task_ids(world), tasks)
        part = PanelSection(family=env, env=env, version=world.meta.version, config=config, seed=seed, tasks={})
        jobs = part_jobs(part, names)
        loaded = load_agent(agent, settings)
        used: list[TokenUsage] = []
        episodes = play_jobs(loaded, part, jobs, temperature, Pace(), on_episode, used.append)
        share = None if loaded.trained is None else loaded.trained.among(env, names) / max(len(names), 1)
        report = summarise(episodes, world.task_type, world.can_solve, share)
    return replace(report, usage=used[0] if used else None, prompts=dict(loaded.prompts)), episodes


def part_jobs(part: PanelSection, names: Sequence[str] | None = None) -> list[Job]:
    """Return a job per attempt at each task of a part, or at each of `names`.

    Attempts at one task form a group.
    """
    return [
        Job(
            task=Task(env_id=part.env, task_id=name, seed=task_seed(part.seed, name, attempt)),
            group_id=group,
            sample_seed=derive_seed(part.seed, "sample", name, *([attempt] if attempt else [])),
            member=attempt,
        )
        for attempt in range(part.attempts)
        for group, name in enumerate(part.tasks if names is None else names)
    ]


def play_jobs(
    agent: Agent,
    part: PanelSection,
    jobs: Sequence[Job],
    temperature: float,
    pace: Pace,
    on_episode: Callable[[Episode], None] = lambda _: None,
    on_usage: Callable[[TokenUsage], None] = lambda _: None,
) -> list[Episode]:
    """Play jobs of a part's environment and return the episodes.

    `on_usage` receives a server's usage at the end, also after an interruption.
    """
    slots = max(1, min(pace.slots or agent.sampling.slots, len(jobs)))
    backend = agent.backend(slots=slots, temperature=temperature)
    kept = PoolConfig(size=slots, kind="processes" if pace.processes else "inside")
    try:
        with EnvPool(part.env, part.config, kept) as pool:
            return collect(Engine(backend, pool, agent.interface), jobs, on_episode)
    finally:
        backend.close()
        if isinstance(backend, Metered):
            on_usage(backend.usage)
