"""Asynchronous group rollouts with over-provisioning; unfinished groups carry over.

`next_batch` returns an update's episodes as soon as `agents.rollout.schedule` allows it. Episodes in flight are paused
while the policy learns and continue with its new weights. `state_dict` returns the complete and the unfinished groups
for a checkpoint. `Rollout` plays in this process; `trainer.cluster` implements the same protocol with workers on other
machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from cairn.agents.rollout.engine import Engine
from cairn.agents.rollout.engine_state import engine_state, keys_in, restore_engine
from cairn.agents.rollout.episode import Job
from cairn.agents.rollout.groups import Groups, Key, State
from cairn.agents.rollout.schedule import GroupSchedule, ScheduleConfig
from cairn.core.records import Episode


class EpisodeSource(Protocol):
    """Supplies the training loop with episodes."""

    @property
    def tokens_processed(self) -> int:
        """Tokens that the back ends have computed so far."""

    def next_batch(
        self, on_episode: Callable[[Episode], None] = lambda _: None, on_work: Callable[[], None] = lambda: None
    ) -> list[Episode]:
        """Return the next update's episodes, by group and member.

        `on_episode` receives each episode as it ends; `on_work` is called often while they are played.
        """

    def sync_weights(self, version: int) -> None:
        """Use the policy's new weights from now on, also for unfinished replies."""

    def metrics(self) -> dict[str, float]:
        """Return metrics of the episodes in flight."""

    def state_dict(self) -> State:
        """Return the full state as JSON."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state; no group may have begun."""

    def close(self) -> None:
        """Stop all episodes and release all resources."""


class Rollout:
    """Plays the groups of one update after another, in this process."""

    def __init__(
        self, engine: Engine, batch_size: int, config: ScheduleConfig, new_group: Callable[[int], Sequence[Job]]
    ) -> None:
        """Set up the rollout; no group begins yet.

        `engine` plays the episodes. For the other arguments see `agents.rollout.groups.Groups`.
        """
        self.engine = engine
        self.groups = Groups(batch_size, config, new_group)
        self.restarted = 0  # episodes that could not be resumed after an interruption

    @property
    def schedule(self) -> GroupSchedule[int]:
        """The schedule of running and ready groups."""
        return self.groups.schedule

    @property
    def tokens_processed(self) -> int:
        """Tokens that the back end has computed so far."""
        return self.engine.backend.tokens_processed

    def next_batch(
        self, on_episode: Callable[[Episode], None] = lambda _: None, on_work: Callable[[], None] = lambda: None
    ) -> list[Episode]:
        """Return the next update's episodes; see `EpisodeSource`."""
        while (episodes := self.groups.take()) is None:
            self._note(self.engine.step(self.groups.next_job), on_episode)
            for number in self.groups.overdue(self.engine.limits.group_timeout_s):
                self._note(self.engine.abort_group(number), on_episode)
            on_work()
        self._note(self.engine.drain_envs(), on_episode)  # so that no environment result is pending
        return episodes

    def sync_weights(self, version: int) -> None:
        """Use the policy's new weights from now on, also for unfinished replies."""
        self.engine.backend.sync_weights(version)

    def metrics(self) -> dict[str, float]:
        """Return how many episodes are in flight and how many had to restart."""
        return {"in_flight": float(len(self.engine.active)), "restarted": float(self.restarted)}

    def close(self) -> None:
        """Close the engine with its back end and pool."""
        self.engine.close()

    def state_dict(self) -> State:
        """Return the full state as JSON."""
        return {**self.groups.state_dict(), "engines": [engine_state(self.engine)]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state; the engine must be fresh."""
        self.groups.load_state_dict(state)
        mine, anew = split_engines(state["engines"], 1)
        self.groups.requeue(map(self.groups.job, anew))
        self.restarted += len(anew)
        for kept in filter(None, mine):
            jobs = {key: self.groups.job(key) for key in keys_in(kept)}
            self.restarted += restore_engine(self.engine, kept, jobs)

    def _note(self, ended: Iterable[tuple[Job, Episode]], hear: Callable[[Episode], object]) -> None:
        for job, episode in ended:
            self.groups.ended(job, episode)
            hear(episode)


def split_engines(states: Sequence[State | None], count: int) -> tuple[Sequence[State | None], list[Key]]:
    """Return the states that `count` engines can restore, and the jobs that must restart.

    An engine's episodes are bound to its slots. So if the number of engines has changed, all episodes restart. None is
    the state of an engine without episodes.
    """
    if len(states) == count:
        return states, []
    return [], [key for state in states if state is not None for key in keys_in(state)]
