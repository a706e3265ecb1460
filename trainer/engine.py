"""Builds engines that play a run's environment, and checks how many episodes failed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from cairn.agents.agent import load_agent
from cairn.agents.backend import Backend
from cairn.agents.rollout.admission import CacheAdmission
from cairn.agents.rollout.engine import Engine, collect
from cairn.agents.rollout.episode import Job, PolicyInterface
from cairn.core.errors import CairnError
from cairn.core.records import Episode, Task
from cairn.core.seeding import derive_seed
from cairn.envs.pool.pool import EnvPool, PoolConfig
from cairn.trainer.config import RunConfig


class _Stopped(Exception):  # noqa: N818  (a request, not an error)
    """Stops the play of further episodes."""


def build_engine(
    config: RunConfig, backend: Backend, interface: PolicyInterface, env_config: Mapping[str, Any]
) -> Engine:
    """Return an engine that plays the run's environment, with the settings `env_config`."""
    return Engine(
        backend,
        _pool(config, env_config),
        interface,
        retries=config.trainer.retries,
        limits=config.limits,
        admission=_admission(config, backend),
    )


def play_script(
    config: RunConfig,
    agent: str,
    env_config: Mapping[str, Any],
    tasks: Sequence[Task],
    on_episode: Callable[[Episode], None] = lambda _: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> list[Episode]:
    """Play each task once with a scripted agent; return the episodes in the order of tasks.

    The result includes failed episodes.

    Pooling, limits and retries of environments are those of the run's rollouts, with at most one environment per
    processor core.

    Args:
        config: the run's configuration.
        agent: name of the scripted agent, see `agents.scripted.script`.
        env_config: the environment's settings.
        tasks: the tasks to play.
        on_episode: called with each finished episode.
        is_stopped: called after each action; once it returns true, the finished episodes are returned.

    Raises:
        CairnError: more episodes failed than `trainer.max_failed_share` allows.
    """
    pool, script = _pool(config, env_config), load_agent(agent)
    backend = script.backend(slots=max(1, min(pool.threads, len(os.sched_getaffinity(0)))))
    jobs = [Job(task=task, group_id=i, sample_seed=derive_seed(config.seed, agent, i)) for i, task in enumerate(tasks)]
    ended: list[Episode] = []

    def record(episode: Episode) -> None:
        ended.append(episode)
        on_episode(episode)

    def stop() -> None:
        if is_stopped():
            raise _Stopped

    engine = Engine(backend, pool, script.interface, retries=config.trainer.retries, limits=config.limits)
    with closing(engine):
        try:
            ended = collect(engine, jobs, record, stop)
        except _Stopped:
            return ended
    require_few_failures(config, ended)
    return ended


def require_few_failures(config: RunConfig, episodes: Sequence[Episode]) -> None:
    """Check that at most the allowed share of episodes failed.

    Raises:
        CairnError: more than `trainer.max_failed_share` of them failed; the message has the first failure.
    """
    failed = [episode for episode in episodes if episode.is_failed]
    if len(failed) > config.trainer.max_failed_share * len(episodes):
        raise CairnError(
            f"{len(failed)} of {len(episodes)} episodes failed, more than trainer.max_failed_share allows; "
            f"the first: {failed[0].ending.detail or failed[0].ending.cause}"
        )


def nothing_fits(config: RunConfig, update: int, num_episodes: int) -> str:
    """Return the note on an update whose episodes all ended before their first reply."""
    return (
        f"update {update} has nothing to learn from: none of its {num_episodes} episodes has a turn, since their "
        f"first prompts leave no room for a reply in sampling.max_context = {config.sampling.max_context} tokens. "
        "Raise it, or shorten prompts with another context"
    )


def _pool(config: RunConfig, env_config: Mapping[str, Any]) -> EnvPool:
    return EnvPool(config.env.id, env_config, PoolConfig(**{**dict(config.pool), "size": config.sampling.slots}))


def _admission(config: RunConfig, backend: Backend) -> CacheAdmission | None:
    """Return the admission control that keeps active sequences within the back end's cache."""
    sampling = config.sampling
    capacity = sampling.cache_tokens or backend.cache_tokens
    if capacity is None:
        return None
    return CacheAdmission(capacity, sampling.max_context, seed=derive_seed(config.seed, "forecast"))
