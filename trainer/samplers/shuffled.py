"""Selects the next task and its seeds from the run's seed and the group's number."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from cairn.agents.rollout.episode import Job
from cairn.core.caching import cached_method
from cairn.core.records import Task
from cairn.core.seeding import derive_seed, numpy_generator


class TaskSampler:
    """Samples every task once per pass, in a new random order for each pass."""

    def __init__(self, env_id: str, task_ids: Sequence[str], group_size: int, seed: int) -> None:
        """Store the arguments; `group_size` is the number of episodes of each task."""
        self._env_id, self._task_ids, self._group_size, self._seed = env_id, task_ids, group_size, seed
        self._order = cached_method(self._draw, 1)

    @property
    def key(self) -> str:
        """A hash of all inputs of the groups: two samplers with equal keys have equal groups."""
        parts = [self._env_id, self._seed, self._group_size, list(self._task_ids)]
        return sha256(json.dumps(parts).encode()).hexdigest()

    def group(self, number: int) -> list[Job]:
        """Return the episodes of the run's group `number`, starting at 0."""
        epoch, place = divmod(number, len(self._task_ids))
        task = Task(
            env_id=self._env_id,
            task_id=self._task_ids[int(self._order(epoch)[place])],
            seed=derive_seed(self._seed, "reset", number) % 2**31,
        )
        return [
            Job(task=task, group_id=number, sample_seed=derive_seed(self._seed, "sample", number, member))
            for member in range(self._group_size)
        ]

    def _draw(self, epoch: int) -> npt.NDArray[np.int64]:
        return numpy_generator(self._seed, "tasks", epoch).permutation(len(self._task_ids))
