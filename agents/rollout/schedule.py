"""Decides which groups may begin and which form the next batch; uses no clock and no model.

An update trains on a batch of whole groups. With `over_provision`, more groups are in flight, so that an update does
not wait for the slowest ones; unfinished groups carry over to the next update. The schedule itself discards no group.
No group is trained on more than `staleness` updates after its first episode began: a batch waits for groups that would
exceed this limit.

The engine (`agents.rollout.source`) and the simulator (`benchmarks.schedule`) both use this module. The admission bound
is that of AReaL (2505.24298); starting with unfinished groups is from APRIL (2509.18521).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import Field, model_validator

from cairn.core.config import Config

K = TypeVar("K", bound=Hashable)  # key of a group


class ScheduleConfig(Config):
    """How far episodes may run ahead of the updates."""

    over_provision: float = Field(
        0.0, ge=0, description="Groups in flight beyond an update's, as a share of them; unfinished groups continue."
    )
    staleness: int = Field(
        0, ge=0, description="Updates that may pass between a group's beginning and the update that trains on it."
    )

    @model_validator(mode="after")
    def _check(self) -> ScheduleConfig:
        if self.over_provision > self.staleness:
            raise ValueError(
                f"over_provision = {self.over_provision:g} needs staleness of at least that, got {self.staleness}: "
                "groups that continue in the next update began with older weights"
            )
        return self


@dataclass(frozen=True, slots=True)
class StartedGroup(Generic[K]):
    """A group that has begun."""

    key: K
    version: int  # of the weights when its first episode began


class GroupSchedule(Generic[K]):
    """Counts groups that are running or ready; `version` is the number of updates made.

    A group that began under version v may be trained on by the update that makes version v + staleness + 1, and by no
    later one. With b groups per batch, this holds if for every k at most k b of the pending groups are due within the
    next k updates. So at most (staleness + 1) b groups are ever pending. A batch takes the oldest complete groups, but
    waits for running ones if it would otherwise leave more than k b groups that are due within the k updates after it.
    """

    def __init__(self, batch_size: int, config: ScheduleConfig, version: int = 0) -> None:
        if batch_size < 1:
            raise ValueError(f"a batch needs at least one group, got {batch_size}")
        self.batch_size = batch_size
        self.config = config
        self.version = version
        self.limit = batch_size + int(batch_size * config.over_provision)
        self._running: dict[K, StartedGroup[K]] = {}
        self._ready: dict[K, StartedGroup[K]] = {}
        self._waits = False  # the next batch needs a group that is still running
        self._at_hand: Counter[int] = Counter()  # groups running or ready, by version

    @property
    def running(self) -> tuple[StartedGroup[K], ...]:
        """Groups with unfinished episodes, in starting order."""
        return tuple(self._running.values())

    @property
    def ready(self) -> tuple[StartedGroup[K], ...]:
        """Complete groups that are not in a batch yet, in order of completion."""
        return tuple(self._ready.values())

    def may_begin(self, version: int | None = None) -> bool:
        """Return whether another group may begin now.

        `version`: version of the player's weights, if it has not received the newest ones yet.
        """
        age = 0 if version is None else self.version - version
        most = min(self.limit, (self.config.staleness + 1 - age) * self.batch_size)
        return len(self._running) + len(self._ready) < most

    def begin(self, key: K, version: int | None = None) -> None:
        """Record the start of a group's first episode.

        `version`: version of the weights, if it is older than the current one, as in a resumed run.
        """
        if key in self._running or key in self._ready:
            raise ValueError(f"group {key!r} has begun already")
        began = self._running[key] = StartedGroup(key, self.version if version is None else version)
        self._at_hand[began.version] += 1

    def complete(self, key: K) -> None:
        """Record that all episodes of a group have ended."""
        self._ready[key] = self._running.pop(key)
        self._waits = False

    def reject(self, key: K) -> None:
        """Discard a complete group without training on it; another one may then begin."""
        self._forget(key)

    def take(self) -> tuple[StartedGroup[K], ...] | None:
        """Return the next batch, oldest first, and count an update; None if the batch must wait."""
        if len(self._ready) < self.batch_size or self._waits:
            return None
        chosen = sorted(self._ready.values(), key=lambda group: group.version)[: self.batch_size]
        if not self._leaves_time(chosen):
            self._waits = True
            return None
        for group in chosen:
            self._forget(group.key)
        self.version += 1
        return tuple(chosen)

    def _forget(self, key: K) -> None:
        self._waits = False
        self._at_hand[self._ready.pop(key).version] -= 1

    def _leaves_time(self, chosen: Sequence[StartedGroup[K]]) -> bool:
        """Return whether every remaining group can still be trained on before it is too stale."""
        left = self._at_hand - Counter(group.version for group in chosen)
        due = 0
        for updates in range(self.config.staleness + 1):  # updates before the last one that may use a group
            due += left[self.version - self.config.staleness + updates]
            if due > updates * self.batch_size:
                return False
        return True
