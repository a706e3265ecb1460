"""The engine of a run: its back end, pool and interface as the run's settings say, in any process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cairn.agents.agent import policy_interface
from cairn.agents.backend import Backend
from cairn.agents.models.policy import Policy
from cairn.agents.rollout.admission import CacheAdmission
from cairn.agents.rollout.engine import Engine
from cairn.core.seeding import derive_seed
from cairn.envs.pool.pool import EnvPool, PoolConfig
from cairn.trainer.config import RunConfig


def build_engine(config: RunConfig, backend: Backend, env_config: Mapping[str, Any], policy: Policy) -> Engine:
    """Return an engine that plays the run's environment, set up as `env_config` says."""
    settings = {**dict(config.pool), "size": config.sampling.slots}
    pool = EnvPool(config.env.id, env_config, PoolConfig(**settings))
    return Engine(
        backend,
        pool,
        policy_interface(config.agent, policy),
        retries=config.trainer.retries,
        limits=config.limits,
        admission=_admission(config, backend),
    )


def _admission(config: RunConfig, backend: Backend) -> CacheAdmission | None:
    """Return what keeps the sequences in flight within what the back end can hold."""
    sampling = config.sampling
    capacity = sampling.cache_tokens or backend.cache_tokens
    if capacity is None:
        return None
    return CacheAdmission(capacity, sampling.max_context, seed=derive_seed(config.seed, "forecast"))
