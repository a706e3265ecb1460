"""Run any agent on tasks of any environment and report its success: scripted agents, checkpoints, models."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cairn.agents.backends.hf import HFBackend, HFConfig
from cairn.agents.collect import collect
from cairn.agents.config import AgentConfig
from cairn.agents.context.base import Context
from cairn.agents.engine import Engine
from cairn.agents.flight import Job, Manner
from cairn.agents.models.policy import Policy, load_pretrained
from cairn.agents.play import play
from cairn.agents.report import Report, summarise
from cairn.agents.scripted import is_scripted, scripted
from cairn.core.config import Config, build
from cairn.core.errors import ConfigError
from cairn.core.plugins import CONTEXTS
from cairn.core.records import Episode, Task
from cairn.core.seeding import derive_seed
from cairn.envs.pool import EnvPool, PoolConfig
from cairn.envs.registry import make


@dataclass(frozen=True)
class PolicyAgent:
    """A policy with the way in which it sees and answers."""

    policy: Policy
    config: AgentConfig
    name: str
    sampling: HFConfig = field(default_factory=HFConfig)

    @property
    def manner(self) -> Manner:
        """How it sees and answers."""
        return Manner(
            new_context=lambda: new_context(self.config, self.policy),
            decode=self.policy.encoder.decode,
            constrain=self.config.constrain,
        )


def evaluate(
    agent: str,
    env: str,
    *,
    config: Mapping[str, Any] | None = None,
    tasks: int | Sequence[str] = 100,
    seed: int = 0,
    temperature: float = 0.4,
    on_episode: Callable[[Episode], None] | None = None,
) -> tuple[Report, list[Episode]]:
    """Play tasks once each and return the report and the episodes.

    Args:
        agent: ``oracle``, ``oracle:NAME``, ``random``, ``constant:TEXT``, a run's folder, a checkpoint, or a model's
            folder or hub name.
        env: registered id.
        config: the environment's settings.
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
    if is_scripted(agent):
        episodes = []
        with EnvPool(env, config or {}) as pool:
            for number, task in enumerate(todo):
                with pool.lease() as handle:
                    choose = scripted(agent, handle, derive_seed(seed, number))
                    episodes.append(play(handle, task, choose, group_id=number))
                if on_episode is not None:
                    on_episode(episodes[-1])
    else:
        loaded = load_agent(agent)
        slots = min(loaded.sampling.slots, max(len(todo), 1))
        sampling = loaded.sampling.model_copy(update={"slots": slots, "temperature": temperature})
        jobs = [Job(task=t, group_id=i, sample_seed=derive_seed(seed, "sample", t.task_id)) for i, t in enumerate(todo)]
        with EnvPool(env, config or {}, PoolConfig(size=sampling.slots)) as pool:
            episodes = collect(Engine(HFBackend(loaded.policy, sampling), pool, loaded.manner), jobs, on_episode)
    return summarise(episodes, world.task_type, world.can_solve), episodes


def load_agent(name: str) -> PolicyAgent:
    """Return the agent in a run's folder (its newest checkpoint), in a checkpoint, or on a plain model.

    A plain model, which says nothing of how it wants to be shown things, gets the settings' defaults.
    """
    folder = Path(name).expanduser()
    checkpoints = sorted((folder / "checkpoints").glob("update-*"))
    if (folder / "checkpoints").is_dir() and not checkpoints:
        raise ConfigError(f"The run at {name!r} has no checkpoint yet")
    place = checkpoints[-1] if checkpoints else folder
    stored = place / "trainer.json"
    settings = json.loads(stored.read_text())["config"] if stored.is_file() else {}
    policy = load_pretrained(str(place) if place.exists() else name)
    return PolicyAgent(
        policy=policy,
        config=build(AgentConfig, settings.get("agent", {}), str(stored)),
        name=name,
        sampling=build(HFConfig, settings.get("sampling", {}), str(stored)),
    )


def new_context(config: AgentConfig, policy: Policy) -> Context:
    """Return a context for one episode."""
    context_class, config_class = CONTEXTS.load(config.context.method)
    settings: Config = build(config_class, config.context.settings, "agent.context")
    context: Context = context_class(settings, policy.encoder)
    return context
