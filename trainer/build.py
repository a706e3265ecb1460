"""Builds a run's parts from its settings, in this process or on a cluster.

Ray is imported only by a run that uses a cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from cairn.agents.agent import new_backend
from cairn.agents.models.policy import Policy
from cairn.agents.rollout.episode import PolicyInterface
from cairn.agents.rollout.source import EpisodeSource, Rollout
from cairn.core.store import Recorder, RunStore
from cairn.trainer.config import RunConfig
from cairn.trainer.engine import build_engine
from cairn.trainer.learner.learner import Learner
from cairn.trainer.samplers.shuffled import TaskSampler

if TYPE_CHECKING:
    from cairn.trainer.cluster.actors import Cluster


def build_cluster(config: RunConfig, on_note: Callable[[str], None]) -> Cluster:
    """Return the run's connection to Ray.

    Raises:
        MissingExtraError: Ray is not installed.
    """
    from cairn.trainer.cluster.actors import Cluster  # ray

    return Cluster(config.cluster, on_note)


def build_recorder(config: RunConfig, path: Path, stack: ExitStack, cluster: Cluster | None) -> Recorder:
    """Return the run's store, which `stack` closes: in this process, or behind an actor."""
    if cluster is None or not cluster.config.writer:
        return stack.enter_context(RunStore(path, config.store.max_bytes))
    from cairn.trainer.cluster.store import RemoteStore  # ray

    return RemoteStore(cluster, path, config.store.max_bytes)


def build_learner(
    config: RunConfig, policy: Policy, cluster: Cluster | None, on_note: Callable[[str], None]
) -> Learner:
    """Return the policy's learner, before its first step."""
    steps = config.trainer.updates * config.learner.epochs * config.learner.minibatches
    if cluster is not None and config.cluster.ranks > 1:
        from cairn.trainer.cluster.ranks import RankedLearner  # ray

        return RankedLearner(cluster, config, policy, steps)
    return Learner(policy, config.learner, steps, config.sampling.temperature, loss=config.loss, on_note=on_note)


def build_rollout(
    config: RunConfig, policy: Policy, interface: PolicyInterface, cluster: Cluster | None, order: TaskSampler
) -> EpisodeSource:
    """Return the source of episodes for updates."""
    if cluster is not None and config.cluster.workers:
        from cairn.trainer.cluster.rollout import ClusterRollout  # ray

        return ClusterRollout(cluster, config, policy, order.group, policy.version)
    engine = build_engine(config, new_backend(config.sampling, policy), interface, config.env.config)
    return Rollout(engine, config.trainer.groups, config.schedule, order.group)
