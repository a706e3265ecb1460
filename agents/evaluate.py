"""Run any agent on tasks of any environment and report its success: scripted agents, checkpoints, models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cairn.agents.agent import load_agent
from cairn.agents.collect import collect
from cairn.agents.engine import Engine
from cairn.agents.flight import Job
from cairn.agents.report import Report, summarise
from cairn.agents.serving.usage import Metered
from cairn.core.records import Episode, Task
from cairn.core.seeding import derive_seed
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
    todo = [Task(env_id=env, task_id=name, seed=derive_seed(seed, "evaluate", name) % 2**31) for name in names]
    loaded = load_agent(agent, settings)
    jobs = [Job(task=t, group_id=i, sample_seed=derive_seed(seed, "sample", t.task_id)) for i, t in enumerate(todo)]
    backend = loaded.backend(slots=min(loaded.sampling.slots, max(len(todo), 1)), temperature=temperature)
    try:
        with EnvPool(env, config or {}, PoolConfig(size=backend.num_slots)) as pool:
            episodes = collect(Engine(backend, pool, loaded.manner), jobs, on_episode)
    finally:
        backend.close()
    report = summarise(episodes, world.task_type, world.can_solve)
    return replace(report, usage=backend.usage if isinstance(backend, Metered) else None), episodes
