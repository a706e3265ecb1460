"""Episodes for updates: whole groups, more of them in flight than an update needs, and what is left goes on.

`batch` returns an update's episodes as soon as `agents.rollout.schedule` lets it; what is in flight stays so while the
policy learns, and goes on with its new weights. `state` has all of it for a checkpoint: complete groups that wait, and
what is under way. `Rollout` plays in this process; `trainer.cluster` has the same face over workers on other machines.
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
    """What the training loop asks for episodes."""

    @property
    def tokens_processed(self) -> int:
        """Tokens that the back ends have computed so far."""

    def next_batch(
        self, on_episode: Callable[[Episode], None] = lambda _: None, on_work: Callable[[], None] = lambda: None
    ) -> list[Episode]:
        """Return the next update's episodes, by group and member.

        `on_episode` hears of each as it ends; `on_work` is called often while they are played.
        """

    def sync_weights(self, version: int) -> None:
        """Go on with the policy's new weights, in replies under way too."""

    def metrics(self) -> dict[str, float]:
        """Return what there is to say about what is under way."""

    def state_dict(self) -> State:
        """Return all that is needed to go on, as JSON."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; nothing may have begun."""

    def close(self) -> None:
        """End what is under way and give back what is held."""


class Rollout:
    """Plays groups for one update after another, in this process."""

    def __init__(
        self, engine: Engine, batch: int, config: ScheduleConfig, new_group: Callable[[int], Sequence[Job]]
    ) -> None:
        """Begin nothing yet; `engine` plays, see `agents.rollout.groups.Groups` for the rest."""
        self.engine = engine
        self.groups = Groups(batch, config, new_group)
        self.restarted = 0  # episodes that could not be taken up after an interruption

    @property
    def schedule(self) -> GroupSchedule[int]:
        """Which groups are running or ready."""
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
        self._note(self.engine.drain_envs(), on_episode)  # so that none is between environment and back end
        return episodes

    def sync_weights(self, version: int) -> None:
        """Go on with the policy's new weights, in replies under way too."""
        self.engine.backend.sync_weights(version)

    def metrics(self) -> dict[str, float]:
        """Return how many episodes are under way, and how many had to begin anew."""
        return {"in_flight": float(len(self.engine.active)), "restarted": float(self.restarted)}

    def close(self) -> None:
        """End the engine, and what back end and pool hold."""
        self.engine.close()

    def state_dict(self) -> State:
        """Return all that is needed to go on, as JSON."""
        return {**self.groups.state_dict(), "engines": [engine_state(self.engine)]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, with a fresh engine."""
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
    """Return the engines' states that `count` engines can go on from, and the jobs that begin anew: all or none.

    What an engine has under way is bound to its slots, so engines that became more or fewer begin their episodes anew.
    None stands for an engine that had nothing.
    """
    if len(states) == count:
        return states, []
    return [], [key for state in states if state is not None for key in keys_in(state)]
