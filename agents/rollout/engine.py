"""Runs many parallel episodes on one back end.

When an episode ends, its slot takes the next job. The back end samples while slow environments work; each of their
calls runs in a thread. Fast environments are called in the caller's thread, which makes runs bitwise reproducible. An
infrastructure failure is recorded on its episode, which is retried in a fresh environment up to `retries` times. An
episode that still fails is returned with the rest; no episode is dropped. The content of a reply never raises an error
here. `collect` plays a list of jobs to the end, for evaluation and demonstrations.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pydantic import Field

from cairn.agents.backend import Backend, Reply
from cairn.agents.rollout.admission import CacheAdmission
from cairn.agents.rollout.episode import EpisodeRunner, Job, PolicyInterface
from cairn.agents.rollout.play import observe
from cairn.core.config import Config
from cairn.core.errors import EpisodeFailure
from cairn.core.records import Ending, Episode, Observation, Turn

_POLL_S = 0.05  # interval of the timeout checks while no result arrives


class EnvSource(Protocol):
    """Lends environments to episodes."""

    @property
    def threads(self) -> int:
        """How many calls may run at once, each in a thread; 0: all run in the caller's thread."""

    def lease(self) -> Any:  # Any: an `agents.rollout.play.Environment` that knows its pool
        """Return an environment for exclusive use."""

    def release(self, handle: Any, /) -> None:
        """Take an environment back; replace it if it has failed."""

    def close(self) -> None:
        """Close all environments."""


class LimitConfig(Config):
    """Time limits in seconds of wall time.

    At a limit, episodes are truncated and keep their current score.
    """

    turn_timeout_s: float | None = Field(
        None, gt=0, description="One reply with the environment's answer; None: no limit."
    )
    episode_timeout_s: float | None = Field(None, gt=0, description="One episode.")
    group_timeout_s: float | None = Field(
        None, gt=0, description="All episodes of a task, from the first one's beginning."
    )


@dataclass(frozen=True, slots=True)
class _Arrival:
    """The result of an environment call."""

    slot: int
    value: Any  # an exception, or the call's return value
    seconds: float


@dataclass
class Engine:
    """Plays jobs with one back end, one pool and one policy interface."""

    backend: Backend
    pool: EnvSource
    interface: PolicyInterface
    retries: int = 1  # further attempts after a failed episode
    limits: LimitConfig = field(default_factory=LimitConfig)
    admission: CacheAdmission | None = None  # None: slots are the only limit
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.active: dict[int, EpisodeRunner] = {}  # by slot
        self.retry_queue: deque[tuple[Job, int]] = deque()  # jobs to start before new ones, with their attempt numbers
        self._sampling: set[int] = set()  # slots; all other active slots wait for their environments
        self.free = list(range(self.backend.num_slots))[::-1]  # a stack: the last slot is used first
        self._inbox: queue.SimpleQueue[_Arrival] = queue.SimpleQueue()
        # Threads serve calls in order of arrival. Each episode has at most one pending call, so episodes take turns.
        self._threads = ThreadPoolExecutor(self.pool.threads) if self.pool.threads else None

    def step(self, next_job: Callable[[], Job | None]) -> list[tuple[Job, Episode]]:
        """Start jobs that may start, do one unit of work, and return the episodes that ended.

        `next_job` returns None while no further episode may begin.
        """
        done: list[tuple[Job, Episode]] = []
        while self._admit(next_job) | self._take_answers(done, wait=not self._sampling):
            pass
        if self._sampling:
            for slot, reply in self.backend.step():
                self._answered(slot, reply, done)
        self._cut_what_is_late(done)
        return done

    def drain_envs(self) -> list[tuple[Job, Episode]]:
        """Process pending environment results without sampling; return the episodes that ended."""
        done: list[tuple[Job, Episode]] = []
        self._take_answers(done, wait=False)
        return done

    def close(self) -> None:
        """Shut down the threads and close the back end and the pool.

        A thread with a running environment call ends after that call; queued calls are cancelled.
        """
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        self.backend.close()
        self.pool.close()

    def abort_group(self, group_id: int) -> list[tuple[Job, Episode]]:
        """Truncate a group's episodes; those with a running environment call end when it returns."""
        done: list[tuple[Job, Episode]] = []
        for slot in [slot for slot, runner in self.active.items() if runner.job.group_id == group_id]:
            self._cut(slot, done)
        return done

    # -- jobs to runners --------------------------------------------------------------------------------------------

    def _admit(self, next_job: Callable[[], Job | None]) -> bool:
        """Begin episodes while there are free slots and cache space; return whether any began."""
        began = False
        while self.free and self._has_room():
            if self.retry_queue:
                job, attempt = self.retry_queue.popleft()
            elif (found := next_job()) is not None:
                job, attempt = found, 0
            else:
                break
            self._begin(self.free.pop(), EpisodeRunner.of(job, self.interface, attempt))
            began = True
        return began

    def _has_room(self) -> bool:
        lengths = [runner.length for runner in self.active.values()]
        return self.admission is None or not lengths or self.admission.admits(lengths)

    def _begin(self, slot: int, runner: EpisodeRunner) -> None:
        self.active[slot] = runner
        runner.began = runner.turn_began = self.clock()
        self._call(slot, lambda: self._reset(runner))

    def _reset(self, runner: EpisodeRunner) -> Observation:
        runner.env = self.pool.lease()
        task = runner.job.task
        return observe(*runner.env.reset(seed=task.seed, options={"task": task.task_id}))

    def resume(self, slot: int, runner: EpisodeRunner, turns: Sequence[Turn]) -> bool:
        """Restore an interrupted episode by replaying its actions; its slot must not be in `free`.

        Returns whether the environment returned the same observations. If it did not, or if it failed, the episode
        restarts.
        """
        try:
            self._replay(runner, turns)
        except EpisodeFailure:
            if runner.env is not None:
                self.pool.release(runner.env)
            self._begin(slot, EpisodeRunner.of(runner.job, self.interface, runner.attempt))
            return False
        self.active[slot] = runner
        runner.began = self.clock()
        runner.is_cold = True
        self._ask(slot)
        return True

    def _replay(self, runner: EpisodeRunner, turns: Sequence[Turn]) -> None:
        runner.build_prompt(self._reset(runner))
        for turn in turns:
            runner.replay_turn(turn, runner.env.step(turn.action))

    # -- environments -----------------------------------------------------------------------------------------------

    def _call(self, slot: int, call: Callable[[], Any]) -> None:  # Any: each call has its own return type
        """Run an environment call and put its result into the inbox.

        In the caller's thread, errors other than `EpisodeFailure` propagate.
        """

        def run() -> None:
            start = time.perf_counter()
            try:
                value = call()
            except EpisodeFailure as failure:
                value = failure
            except BaseException as error:  # raised in a thread: `_arrived` raises it again
                if self._threads is None:
                    raise
                value = error
            self._inbox.put(_Arrival(slot, value, time.perf_counter() - start))

        if self._threads is None:
            run()
        else:
            self._threads.submit(run)

    def _take_answers(self, done: list[tuple[Job, Episode]], *, wait: bool) -> bool:
        """Continue every episode with a pending environment result; return whether there was one."""
        found = False
        while True:
            try:
                arrival = self._inbox.get(block=wait and bool(self.active) and not found, timeout=_POLL_S)
            except queue.Empty:
                return found
            found = True
            self._arrived(arrival, done)

    def _arrived(self, arrival: _Arrival, done: list[tuple[Job, Episode]]) -> None:
        runner = self.active[arrival.slot]
        ending = None
        try:
            if isinstance(arrival.value, BaseException):
                raise arrival.value
            if runner.pending is not None:
                ending = runner.on_step(arrival.value, arrival.seconds)
            elif runner.is_late:
                runner.observation, ending = arrival.value, Ending.truncated("time")
            else:
                runner.build_prompt(arrival.value)
        except EpisodeFailure as failure:
            self._settle(arrival.slot, runner.failed(failure), done)
            return
        if ending is not None:
            self._settle(arrival.slot, runner.ended(ending), done)
            return
        self._ask(arrival.slot)

    def _ask(self, slot: int) -> None:
        """Request the next reply of an episode from the back end."""
        runner = self.active[slot]
        runner.turn_began = self.clock()
        self.backend.submit(slot, runner.request())
        self._sampling.add(slot)

    # -- replies ----------------------------------------------------------------------------------------------------

    def _answered(self, slot: int, reply: Reply | EpisodeFailure, done: list[tuple[Job, Episode]]) -> None:
        self._sampling.discard(slot)
        runner = self.active[slot]
        if isinstance(reply, EpisodeFailure):
            self._settle(slot, runner.failed(reply), done)
            return
        try:
            is_note = runner.takes_note(reply)
        except EpisodeFailure as failure:  # no prompt can be built from it
            self._settle(slot, runner.failed(failure), done)
            return
        if is_note:
            self._ask(slot)
            return
        action = runner.on_reply(reply)
        if isinstance(action, Ending):
            self._settle(slot, runner.ended(action), done)
            return
        self._call(slot, lambda: runner.env.step(action))

    # -- endings ----------------------------------------------------------------------------------------------------

    def _cut_what_is_late(self, done: list[tuple[Job, Episode]]) -> None:
        turn_timeout_s, episode_timeout_s = (
            self.limits.turn_timeout_s or float("inf"),
            self.limits.episode_timeout_s or float("inf"),
        )
        if turn_timeout_s == episode_timeout_s == float("inf"):
            return
        now = self.clock()
        for slot, runner in list(self.active.items()):
            if now - runner.turn_began > turn_timeout_s or now - runner.began > episode_timeout_s:
                self._cut(slot, done)

    def _cut(self, slot: int, done: list[tuple[Job, Episode]]) -> None:
        runner = self.active[slot]
        if slot not in self._sampling:
            runner.is_late = True
            return
        self.backend.abort(slot)
        self._sampling.discard(slot)
        self._settle(slot, runner.ended(Ending.truncated("time")), done)

    def _settle(self, slot: int, episode: Episode, done: list[tuple[Job, Episode]]) -> None:
        """Remove an ended episode: queue it again if it failed and may be retried, else return it."""
        runner = self.active.pop(slot)
        self.free.append(slot)
        if runner.env is not None:
            self.pool.release(runner.env)
        if self.admission is not None:
            self.admission.record(runner.length)
        if episode.is_failed and runner.attempt < self.retries:
            self.retry_queue.append((runner.job, runner.attempt + 1))
        else:
            done.append((runner.job, episode))


def collect(
    engine: Engine,
    jobs: Iterable[Job],
    on_episode: Callable[[Episode], None] = lambda _: None,
    on_work: Callable[[], None] = lambda: None,
) -> list[Episode]:
    """Play every job and return the episodes in the jobs' order.

    `on_episode` receives each episode as it ends; `on_work` is called often while they are played.
    """
    mine = [replace(job) for job in jobs]  # copies, because equal jobs must have different ids
    done: dict[int, Episode] = {}
    left = iter(mine)
    while len(done) < len(mine):
        for job, episode in engine.step(lambda: next(left, None)):
            done[id(job)] = episode
            on_episode(episode)
        on_work()
    return [done[id(job)] for job in mine]
