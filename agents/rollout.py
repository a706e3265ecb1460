"""Episodes for updates: whole groups, more of them in flight than an update needs, and what is left goes on.

`batch` returns an update's episodes as soon as `agents.schedule` lets it; what is in flight stays so while the policy
learns, and goes on with its new weights. `state` has all of it for a checkpoint: complete groups that wait, and for
every episode under way its turns and the reply that it was at. A restored episode is played to where it was by the same
actions; where the environment does not show the same again, it begins anew, and `restarted` counts it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cairn.agents.backend import Reply
from cairn.agents.engine import Engine
from cairn.agents.flight import Flight, Job
from cairn.agents.schedule import GroupSchedule, ScheduleConfig
from cairn.core.episode_json import (
    array_from_json,
    array_to_json,
    constraint_from_json,
    constraint_to_json,
    episode_from_json,
    episode_to_json,
    turn_from_json,
    turn_to_json,
)
from cairn.core.records import Episode

State = dict[str, Any]  # Any: JSON


@dataclass
class _Group:
    """One task's episodes."""

    number: int
    jobs: Sequence[Job]
    episodes: dict[int, Episode] = field(default_factory=dict)  # by member, as they end
    began: float = 0.0


class Rollout:
    """Plays groups for one update after another."""

    def __init__(
        self, engine: Engine, batch: int, config: ScheduleConfig, new_group: Callable[[int], Sequence[Job]]
    ) -> None:
        """Begin nothing yet.

        Args:
            engine: plays episodes.
            batch: groups of an update.
            config: how far episodes may run ahead of updates.
            new_group: returns the jobs of a group, by its number: 0, 1, 2, ... in the order of their beginning.
        """
        self.engine = engine
        self.schedule = GroupSchedule[int](batch, config)
        self.restarted = 0  # episodes that could not be taken up after an interruption
        self._new_group = new_group
        self._next = 0
        self._groups: dict[int, _Group] = {}
        self._queue: deque[Job] = deque()  # of the group that is beginning
        self._member: dict[int, int] = {}  # of a job, by its id()

    def batch(self, on_episode: Callable[[Episode], None] | None = None) -> list[Episode]:
        """Return the next update's episodes, by group and member; `on_episode` hears of each as it ends."""
        hear = on_episode or (lambda _: None)
        while (taken := self.schedule.take()) is None:
            self._note(self.engine.pump(self._next_job), hear)
            for number in self._late_groups():
                self._note(self.engine.cut(number), hear)
        self._note(self.engine.take_answers(), hear)  # so that none is between environment and back end
        groups = [self._groups.pop(number) for number in sorted(began.key for began in taken)]
        return [group.episodes[member] for group in groups for member in range(len(group.jobs))]

    def update_weights(self, version: int) -> None:
        """Go on with the policy's new weights, in replies under way too."""
        self.engine.backend.update_weights(version)

    def _next_job(self) -> Job | None:
        if not self._queue and self.schedule.may_begin():
            self.schedule.begin(self._next)
            self._queue.extend(self._open(self._next).jobs)
            self._next += 1
        return self._queue.popleft() if self._queue else None

    def _open(self, number: int) -> _Group:
        group = self._groups[number] = _Group(number, self._new_group(number), began=time.monotonic())
        self._member |= {id(job): member for member, job in enumerate(group.jobs)}
        return group

    def _note(self, ended: Iterable[tuple[Job, Episode]], hear: Callable[[Episode], object]) -> None:
        for job, episode in ended:
            group = self._groups[job.group_id]
            group.episodes[self._member.pop(id(job))] = episode
            if len(group.episodes) == len(group.jobs):
                self.schedule.complete(group.number)
            hear(episode)

    def _late_groups(self) -> list[int]:
        limit = self.engine.limits.group_s
        if limit is None:
            return []
        now = time.monotonic()
        return [began.key for began in self.schedule.running if now - self._groups[began.key].began > limit]

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Return all that is needed to go on, as JSON."""
        place = {
            id(job): (group.number, member) for group in self._groups.values() for member, job in enumerate(group.jobs)
        }
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
            "queue": [place[id(job)] for job in self._queue],
            "waiting": [[*place[id(job)], attempt] for job, attempt in self.engine.waiting],
            "flights": [
                [*place[id(flight.job)], slot, self._flight_state(slot, flight)]
                for slot, flight in self.engine.flights.items()
            ],
            "free": self.engine.free,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, with a fresh engine."""
        self.schedule = GroupSchedule(self.schedule.batch_size, self.schedule.config, state["version"])
        self._next = state["next"]
        for number, version in (*state["ready"], *state["running"]):
            self.schedule.begin(number, version)
            self._open(number)
        for number, member, episode in state["episodes"]:
            self._groups[number].episodes[member] = episode_from_json(episode)
            del self._member[id(self._groups[number].jobs[member])]
        for number, _ in state["ready"]:
            self.schedule.complete(number)
        self._queue.extend(self._groups[number].jobs[member] for number, member in state["queue"])
        for number, member, attempt in state["waiting"]:
            self.engine.waiting.append((self._groups[number].jobs[member], attempt))
        self.engine.free = list(state["free"])
        for number, member, slot, kept in state["flights"]:
            self._take_up(slot, self._groups[number].jobs[member], kept)

    def _flight_state(self, slot: int, flight: Flight) -> State:
        reply = flight.said.reply if flight.said is not None else self.engine.backend.so_far(slot)
        return {
            "attempt": flight.attempt,
            "turns": [turn_to_json(turn) for turn in flight.turns],
            "reply": None if reply is None else _reply_to_json(reply),
            "random": flight.rng.getstate(),
        }

    def _take_up(self, slot: int, job: Job, kept: Mapping[str, Any]) -> None:
        """Bring an episode to where it was; where that cannot be done, it begins anew."""
        flight = Flight.of(job, self.engine.manner, kept["attempt"])
        version, numbers, gauss = kept["random"]
        flight.rng.setstate((version, tuple(numbers), gauss))
        flight.begun = None if kept["reply"] is None else _reply_from_json(kept["reply"])
        if not self.engine.take_up(slot, flight, [turn_from_json(turn) for turn in kept["turns"]]):
            self.restarted += 1


def _reply_to_json(reply: Reply) -> State:
    return {
        "ids": array_to_json(reply.ids),
        "logprobs": array_to_json(reply.logprobs),
        "constraint": constraint_to_json(reply.constraint),
        "finish": reply.finish,
        "version": reply.version,
    }


def _reply_from_json(data: Mapping[str, Any]) -> Reply:
    return Reply(
        ids=array_from_json(data["ids"], np.int32),
        logprobs=array_from_json(data["logprobs"], np.float32),
        constraint=constraint_from_json(data["constraint"]),
        finish=data["finish"],
        version=data["version"],
    )
