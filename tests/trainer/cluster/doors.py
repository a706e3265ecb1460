"""The doors on a cluster: settings, workers by themselves, and how to find and end their processes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cairn.agents.models.policy import Policy, load_policy
from cairn.agents.rollout.source import EpisodeSource
from cairn.core.records import Episode
from cairn.envs.base import Outcome
from cairn.envs.registry import make
from cairn.trainer.cluster.actors import Cluster
from cairn.trainer.cluster.rollout import ClusterRollout
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.run.task_split import split_run_tasks
from cairn.trainer.samplers.shuffled import TaskSampler
from cairn.trainer.sft import environment_texts
from tests.trainer.doomed import Doomed
from tests.trainer.test_train import DOORS, SMALL


class Heavy(Doomed):
    """Doors that take a moment to open: something can happen meanwhile."""

    def act(self, action: str) -> Outcome:
        time.sleep(0.02)
        return super().act(action)


HEAVY = {"env.id": "tests.trainer.cluster.doors:Heavy"}
PAIR = {"cluster.workers": 2, "cluster.placement.worker.resources": {"side": 1}}  # one on each side
SOLO = {"cluster.workers": 2, "cluster.placement.worker.resources": {"solo": 1}}  # one on a machine that can go


def settings(**over: Any) -> RunConfig:  # Any: of any setting; __ replaces a dot
    """Return small settings: 4 groups of 4, 4 slots a worker."""
    few = {"trainer.updates": 3, "imitation.episodes": 0, "sampling.slots": 4}
    return load_run_config(DOORS, {**SMALL, **few, **{name.replace("__", "."): value for name, value in over.items()}})


def order_of(config: RunConfig) -> TaskSampler:
    tasks = make(config.env.id, **config.env.config).tasks()
    split = split_run_tasks(config, tasks, make(config.env.id, **config.eval_env).tasks(), None)
    return TaskSampler(config.env.id, split.train, config.trainer.group_size, config.seed)


def policy_for(config: RunConfig) -> Policy:
    tasks = list(make(config.env.id, **config.env.config).tasks())
    return load_policy(config.model, lambda: environment_texts(config, tasks), config.seed)


@contextmanager
def cluster_rollout(config: RunConfig, notes: list[str], version: int = 0) -> Iterator[ClusterRollout]:
    with Cluster(config.cluster, notes.append) as cluster:
        rollout = ClusterRollout(cluster, config, policy_for(config), order_of(config).group, version)
        try:
            yield rollout
        finally:
            rollout.close()


def processes(notes: list[str], what: str) -> list[int]:
    """Return the processes that notes describe as `what`, in the order of their start."""
    found = [re.fullmatch(rf"{what} is process (\d+) on \S+", note) for note in notes]
    return [int(match[1]) for match in found if match]


def wait_for(notes: list[str], what: str, count: int = 1, timeout_s: float = 150) -> int:
    """Return the `count`-th process of kind `what`, once it has started."""
    until = time.monotonic() + timeout_s
    while len(found := processes(notes, what)) < count:
        assert time.monotonic() < until, notes
        time.sleep(0.05)
    return found[count - 1]


def tasks_of(episodes: list[Episode]) -> list[tuple[int, str]]:
    return [(episode.group_id, episode.task.task_id) for episode in episodes]


def expected(config: RunConfig, updates: int) -> list[tuple[int, str]]:
    """Return the expected (group, task) of the given number of updates without run-ahead, by group and member."""
    order = order_of(config)
    numbers = range(updates * config.trainer.groups)
    return [(job.group_id, job.task.task_id) for number in numbers for job in order.group(number)]


def batches(rollout: EpisodeSource, updates: int, version: int = 1) -> list[Episode]:
    """Return the episodes of `updates` updates without learning; `version`: of the weights after the first update."""
    out: list[Episode] = []
    for update in range(updates):
        out += rollout.next_batch()
        rollout.sync_weights(version + update)
    return out
