"""Group rollouts on workers of a Ray cluster, with the interface of `Rollout`.

A thread of the trainer keeps every worker busy, also while the policy learns. It assigns each job to the worker with
the most free capacity, and gives workers a few jobs more than they have slots. It takes unstarted jobs back when
another worker could start them at once. So faster machines receive more jobs. New weights enter the object store once
per version, and each worker receives them with its next call. A group begins under the published weights, which keeps
the bound on staleness.

A lost worker is replaced, and its jobs are the next to be assigned: each job ends exactly once. A slow worker, or a
replacement that waits for a machine, delays only its own jobs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import ray

from cairn.agents.models.lora import trained
from cairn.agents.models.policy import Policy
from cairn.agents.rollout.engine_state import keys_in
from cairn.agents.rollout.episode import Job
from cairn.agents.rollout.groups import Groups, Key, State, key_of
from cairn.agents.rollout.source import split_engines
from cairn.core.errors import CairnError
from cairn.core.records import Episode
from cairn.envs.registry import address
from cairn.trainer.cluster.actors import Actor, ActorLost, Cluster, Ref
from cairn.trainer.cluster.weights import files_of, weights_of
from cairn.trainer.cluster.worker import RolloutWorker, WorkerCommand, WorkerInit, WorkerReply
from cairn.trainer.config import RunConfig

_POLL_S = 0.1  # interval of checks for silent workers while no reply arrives


@dataclass(kw_only=True, eq=False)
class _Worker:
    """The trainer's record of a worker."""

    number: int
    actor: Actor
    call: Ref | None  # the outstanding call; at first `start`
    version: int  # of the weights that it was last sent
    called: float = field(default_factory=time.monotonic)
    process: str = ""  # where it runs; empty: it has not started yet
    jobs: dict[Key, Job] = field(default_factory=dict)  # assigned to it, not ended
    outbox: list[Job] = field(default_factory=list)  # those of `jobs` that the next call sends
    num_waiting: int = 0  # those of `jobs` that it had not started when it last answered
    tokens_processed: int = 0

    @property
    def name(self) -> str:
        return f"Rollout worker {self.number}" + (f" ({self.process})" if self.process else "")


class ClusterRollout:
    """Plays groups for one update after another, on workers."""

    def __init__(
        self,
        cluster: Cluster,
        config: RunConfig,
        policy: Policy,
        new_group: Callable[[int], Sequence[Job]],
        version: int = 0,
    ) -> None:
        """Create the source without workers; `version` is that of the policy's current weights.

        Raises:
            CairnError: another process could not import the environment.
        """
        self.groups = Groups(config.trainer.groups, config.schedule, new_group)
        self.restarted = 0  # episodes that began again, after an interruption or after the loss of a worker
        self.cluster, self._policy, self._slots = cluster, policy, config.sampling.slots
        self._config = config.model_copy(update={"env": config.env.model_copy(update={"id": address(config.env.id)})})
        self._files, self._files_version = ray.put(files_of(policy)), version
        self._version = version
        self._weights: Ref = None  # in the object store; None: `_files` have them
        self._past_tokens = 0  # of lost workers
        self._heard: list[Episode] = []
        self._changed = threading.Condition()  # guards all of this
        self._is_closing = False
        self._threads = ThreadPoolExecutor(1)
        self._serving: Future[None] | None = None
        self._workers: list[_Worker] = []

    # -- the interface of a rollout ---------------------------------------------------------------------------------

    @property
    def tokens_processed(self) -> int:
        """Tokens that the workers' back ends have computed, as of their last replies."""
        return self._past_tokens + sum(worker.tokens_processed for worker in self._workers)

    def next_batch(
        self, on_episode: Callable[[Episode], None] = lambda _: None, on_work: Callable[[], None] = lambda: None
    ) -> list[Episode]:
        """Return the next update's episodes; see `agents.rollout.source.EpisodeSource`.

        Raises:
            CairnError: too many workers died, or none can start.
        """
        self._launch()
        if self._serving is None:
            self._serving = self._threads.submit(self._serve)
        with self._changed:
            while (episodes := self.groups.take()) is None:
                self._tell(on_episode)
                if self._serving.done():
                    self._serving.result()
                self._changed.wait(_POLL_S)
                on_work()
            self._tell(on_episode)
            return episodes

    def sync_weights(self, version: int) -> None:
        """Publish the policy's new weights; workers continue with them, also within partial replies."""
        weights = ray.put(weights_of(trained(self._policy.model)))
        with self._changed:
            self._version, self._weights = version, weights
            self._changed.notify_all()

    def metrics(self) -> dict[str, float]:
        """Return the number of assigned episodes and of restarted ones."""
        with self._changed:
            in_flight = sum(len(worker.jobs) for worker in self._workers)
        return {
            "in_flight": float(in_flight),
            "restarted": float(self.restarted),
        }

    def close(self) -> None:
        """End the thread and the workers."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._threads.shutdown()
        for worker in self._workers:
            self.cluster.stop(worker.actor)

    def _tell(self, on_episode: Callable[[Episode], None]) -> None:
        for episode in self._heard:
            on_episode(episode)
        self._heard.clear()

    # -- the thread -------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Assign jobs and read replies until `close`; `next_batch` raises this thread's errors."""
        while True:
            with self._changed:
                if self._is_closing:
                    return
                self._deal()
                calls = [worker.call for worker in self._workers if worker.call is not None]
                if not calls:
                    self._changed.wait(_POLL_S)
                    continue
            ready, _ = ray.wait(calls, timeout=_POLL_S)
            with self._changed:
                for worker in self._workers:
                    if worker.call in ready:
                        self._receive(worker)
                self._look_for_silence()
                self._changed.notify_all()

    def _deal(self) -> None:
        """Assign the jobs that may start, and call the workers that have jobs."""
        there = [worker for worker in self._workers if worker.process]
        while there and (emptiest := max(there, key=self._room)) and self._room(emptiest) > 0:
            job = self.groups.next_job(self._version)
            if job is None:
                break
            emptiest.jobs[key_of(job)] = job
            emptiest.outbox.append(job)
        for worker in there:
            if worker.call is None and worker.jobs:
                self._call(worker)

    def _room(self, worker: _Worker) -> int:
        """Return the number of further jobs for a worker: it may hold twice as many as it has slots."""
        return 2 * self._slots - len(worker.jobs)

    def _call(self, worker: _Worker) -> None:
        has_news = worker.version != self._version
        free = sum(max(self._slots - len(w.jobs), 0) for w in self._workers if w is not worker and w.process)
        order = WorkerCommand(
            jobs=worker.outbox,
            weights=(self._version, [self._weights]) if has_news else None,
            cut=[
                n
                for n in self.groups.overdue(self._config.limits.group_timeout_s)
                if any(n == g for g, _ in worker.jobs)
            ],
            return_jobs=min(free, worker.num_waiting),
        )
        worker.call, worker.called = worker.actor.advance.remote(order), time.monotonic()
        worker.outbox, worker.version = [], self._version

    def _receive(self, worker: _Worker) -> None:
        """Process the reply to the outstanding call."""
        try:
            answer = self.cluster.answer(worker.call)
        except ActorLost as lost:
            self._replace(worker, lost)
            return
        worker.call = None
        if isinstance(answer, WorkerReply):
            self._note(worker, answer)
        else:
            worker.process = answer.process
            self.restarted += answer.restarted
            self.cluster.on_note(f"Rollout worker {worker.number} is {worker.process}")

    def _note(self, worker: _Worker, progress: WorkerReply) -> None:
        for key, episode in progress.ended:
            self.groups.ended(worker.jobs.pop(key), episode)
            self._heard.append(episode)
        self.groups.requeue([worker.jobs.pop(key) for key in progress.given_back])
        worker.num_waiting, worker.tokens_processed = progress.num_waiting, progress.tokens_processed

    # -- starting and replacing workers -----------------------------------------------------------------------------

    def _launch(self, kept: Sequence[State | None] = ()) -> None:
        """Start the workers, once and without waiting; `kept` has the states that they resume from."""
        if not self._workers:
            count = self._config.cluster.workers
            self._workers = [self._new_worker(i, kept[i] if kept else None) for i in range(count)]

    def _new_worker(self, number: int, kept: State | None = None) -> _Worker:
        jobs = {key: self.groups.job(key) for key in keys_in(kept)} if kept else {}
        actor = self.cluster.start(RolloutWorker, self._config.cluster.placement.worker)
        start = WorkerInit(config=self._config, version=self._files_version, kept=kept, jobs=list(jobs.values()))
        call = actor.start.remote(start, self._files)
        return _Worker(number=number, actor=actor, call=call, version=self._files_version, jobs=jobs)

    def _replace(self, worker: _Worker, why: ActorLost) -> None:
        """Replace a lost worker, and requeue its jobs before all others."""
        self.restarted += len(worker.jobs) - len(worker.outbox) - worker.num_waiting
        self.groups.requeue(worker.jobs.values())
        self._past_tokens += worker.tokens_processed
        self.cluster.lost(worker.actor, worker.name, why)
        self._workers[worker.number] = self._new_worker(worker.number)

    def _look_for_silence(self) -> None:
        now, settings = time.monotonic(), self._config.cluster
        for worker in list(self._workers):
            if worker.process and worker.call is not None and now - worker.called > settings.silence_s:
                self._replace(worker, ActorLost(f"it did not answer for {settings.silence_s:g} s"))
        if all(not worker.process and now - worker.called > settings.start_s for worker in self._workers):
            place = settings.placement.worker.model_dump()
            raise CairnError(
                f"No rollout worker could start within cluster.start_s = {settings.start_s:g} s: each asks for "
                f"{place}, the cluster has {self.cluster.free()}. Add machines, or ask for less"
            )

    # -- checkpoints ------------------------------------------------------------------------------------------------

    def state_dict(self) -> State:
        """Return the state for a checkpoint, as JSON.

        Episodes in progress on a lost worker start again.
        """
        with self._changed:
            there = [worker for worker in self._workers if worker.process]
            asked = [worker.actor.state.remote() for worker in there]  # answered after the outstanding call
            engines: list[State | None] = [None] * len(self._workers)
            for worker, ref in zip(there, asked, strict=True):
                engines[worker.number] = self._state_of(worker, ref)
            in_progress = {key for engine in engines if engine is not None for key in keys_in(engine)}
            dealt = [key for worker in self._workers for key in worker.jobs if key not in in_progress]
            groups = self.groups.state_dict()
            return {**groups, "queue": sorted([*dealt, *groups["queue"]]), "engines": engines}

    def _state_of(self, worker: _Worker, ref: Ref) -> State | None:
        if worker.call is not None:
            self._receive(worker)
        try:
            answer: tuple[WorkerReply, State] = self.cluster.answer(ref)
        except ActorLost as lost:
            if worker in self._workers:  # else `_receive` has replaced it
                self._replace(worker, lost)
            return None
        self._note(worker, answer[0])
        return answer[1]

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume from a state; no worker may have started."""
        self.groups.load_state_dict(state)
        mine, anew = split_engines(state["engines"], self._config.cluster.workers)
        self.groups.requeue(map(self.groups.job, anew))
        self.restarted += len(anew)
        self._launch(mine)
