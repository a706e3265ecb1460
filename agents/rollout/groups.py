"""Tracks episode groups from their start to an update: queued, active and complete jobs.

This module uses no model and no environment. A player, in this process or on another machine, takes jobs one by one
from `next_job` and reports each ended episode to `ended`. A job that its player lost is requeued and played again. So
`take` returns exactly one episode per job, and the jobs of a group never change.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cairn.agents.rollout.episode import Job
from cairn.agents.rollout.schedule import GroupSchedule, ScheduleConfig
from cairn.core.episode_json import episode_from_json, episode_to_json
from cairn.core.records import Episode

Key = tuple[int, int]  # a job's group and its member index
State = dict[str, Any]  # Any: JSON


def key_of(job: Job) -> Key:
    """Return the key that identifies a job of a run in every process."""
    return job.group_id, job.member


def without_episodes(state: Mapping[str, Any]) -> State:  # Any: JSON
    """Return a state without its groups in flight; a run resumes from it with the next group.

    `state` is that of `Groups` and its engines.
    """
    return {**state, "ready": [], "running": [], "episodes": [], "queue": [], "engines": []}


@dataclass
class _Group:
    """The jobs and ended episodes of one task."""

    number: int
    jobs: Sequence[Job]
    episodes: dict[int, Episode] = field(default_factory=dict)  # by member, as they end
    began: float = 0.0


class Groups:
    """The groups of one run; `schedule` decides which may begin and which form a batch."""

    def __init__(self, batch_size: int, config: ScheduleConfig, new_group: Callable[[int], Sequence[Job]]) -> None:
        """Set up the groups; none begins yet.

        Args:
            batch_size: number of groups per update.
            config: how far episodes may run ahead of updates.
            new_group: returns the jobs of a group, by its number: 0, 1, 2, ... in starting order.
        """
        self.schedule = GroupSchedule[int](batch_size, config)
        self._new_group = new_group
        self._next = 0
        self._groups: dict[int, _Group] = {}
        self._queue: deque[Job] = deque()  # of groups that have begun

    def next_job(self, version: int | None = None) -> Job | None:
        """Return the next job, or None while none may begin.

        `version`: version of the player's weights, if it has not received the newest ones yet.
        """
        if not self._queue and self.schedule.may_begin(version):
            self.schedule.begin(self._next, version)
            self._queue.extend(self._open(self._next).jobs)
            self._next += 1
        return self._queue.popleft() if self._queue else None

    def requeue(self, jobs: Iterable[Job]) -> None:
        """Put jobs that have not ended back into the queue, so that they start next.

        The queue is sorted by key.
        """
        self._queue = deque(sorted([*jobs, *self._queue], key=key_of))

    def ended(self, job_for: Job, episode: Episode) -> None:
        """Record a job's episode.

        Raises:
            ValueError: the job has an episode already.
        """
        group = self._groups[job_for.group_id]
        if job_for.member in group.episodes:
            raise ValueError(f"Group {group.number} has an episode of member {job_for.member} already")
        group.episodes[job_for.member] = episode
        if len(group.episodes) == len(group.jobs):
            self.schedule.complete(group.number)

    def take(self) -> list[Episode] | None:
        """Return the next update's episodes, by group and member; None if they are incomplete."""
        taken = self.schedule.take()
        if taken is None:
            return None
        groups = [self._groups.pop(number) for number in sorted(began.key for began in taken)]
        return [group.episodes[member] for group in groups for member in range(len(group.jobs))]

    def overdue(self, limit_s: float | None) -> list[int]:
        """Return the groups that began longer ago than the limit."""
        if limit_s is None:
            return []
        now = time.monotonic()
        return [began.key for began in self.schedule.running if now - self._groups[began.key].began > limit_s]

    def job(self, key: Key) -> Job:
        """Return the job with this key."""
        return self._groups[key[0]].jobs[key[1]]

    def _open(self, number: int) -> _Group:
        jobs = [replace(job, member=member) for member, job in enumerate(self._new_group(number))]
        group = self._groups[number] = _Group(number, jobs, began=time.monotonic())
        return group

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def state_dict(self) -> State:
        """Return the state as JSON, without the active episodes."""
        return {
            "version": self.schedule.version,
            "next": self._next,
            "ready": [[began.key, began.version] for began in self.schedule.ready],
            "running": [[began.key, began.version] for began in self.schedule.running],
            "episodes": [
                [group.number, member, episode_to_json(episode)]
                for group in self._groups.values()
                for member, episode in group.episodes.items()
            ],
            "queue": [key_of(job) for job in self._queue],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state; no group may have begun."""
        self.schedule = GroupSchedule(self.schedule.batch_size, self.schedule.config, state["version"])
        self._next = state["next"]
        for number, version in (*state["ready"], *state["running"]):
            self.schedule.begin(number, version)
            self._open(number)
        for number, member, episode in state["episodes"]:
            self._groups[number].episodes[member] = episode_from_json(episode)
        for number, _ in state["ready"]:
            self.schedule.complete(number)
        self._queue.extend(self.job((number, member)) for number, member in state["queue"])
