"""A rollout worker: environments and a back end on one machine that play the trainer's jobs.

The worker is idle between calls: the trainer keeps one call of `advance` outstanding while the worker has jobs. A call
carries new weights as a reference into the object store.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import ray

from cairn.agents.agent import new_backend, policy_interface
from cairn.agents.rollout.engine_state import engine_state, restore_engine
from cairn.agents.rollout.episode import Job
from cairn.agents.rollout.groups import Key, State, key_of
from cairn.core.records import Episode
from cairn.trainer.cluster.actors import Ref, own_errors, pid_and_host
from cairn.trainer.cluster.weights import Weights, policy_of, put_weights
from cairn.trainer.config import RunConfig
from cairn.trainer.engine import build_engine
from cairn.trainer.hardware import set_up_torch

_SLICE_S = 0.1  # longest duration of a call in which no episode ends


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInit:
    """The initial data of a worker, except the policy's files."""

    config: RunConfig
    version: int  # of the policy's weights
    kept: State | None  # the state that it resumes from; None: it starts empty
    jobs: Sequence[Job]  # the jobs of `kept`


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReady:
    """A worker that has started."""

    process: str  # where it runs
    restarted: int  # episodes that could not be resumed and started again


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCommand:
    """A call's input."""

    jobs: Sequence[Job] = ()  # new jobs, in addition to those that it has
    weights: tuple[int, Sequence[Ref]] | None = None  # version and a reference; None: no change
    cut: Sequence[int] = ()  # groups whose time limit has passed
    return_jobs: int = 0  # number of unstarted jobs to return, as other workers have room for them


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReply:
    """A call's result."""

    ended: Sequence[tuple[Key, Episode]]
    given_back: Sequence[Key]
    num_waiting: int  # jobs that it has and has not started
    tokens_processed: int  # computed since its start


class RolloutWorker:
    """Plays jobs; call `start` first."""

    def start(self, start: WorkerInit, files: Mapping[str, bytes]) -> WorkerReady:
        """Build the engine and resume the episodes in progress.

        Raises:
            CairnError: this machine lacks something that the configuration names.
        """
        config = start.config
        set_up_torch(config.trainer.threads, config.trainer.deterministic)
        self._jobs: deque[Job] = deque()  # not started
        with own_errors():
            # Other back ends compute in processes of their own, and need the GPU's memory.
            self._policy = policy_of(files, config.model.dtype, is_computing=config.sampling.method == "hf")
            self._policy.version = start.version
            backend = new_backend(config.sampling, self._policy)
            interface = policy_interface(config.agent, self._policy)
            self._engine = build_engine(config, backend, interface, config.env.config)
        jobs = {key_of(job): job for job in start.jobs}
        restarted = 0 if start.kept is None else restore_engine(self._engine, start.kept, jobs)
        return WorkerReady(process=pid_and_host(), restarted=restarted)

    def advance(self, order: WorkerCommand) -> WorkerReply:
        """Play until an episode ends, or for a tenth of a second."""
        if order.weights is not None:
            version, (ref,) = order.weights
            weights: Weights = ray.get(ref)
            put_weights(self._policy, weights)
            self._engine.backend.sync_weights(version)
        self._jobs.extend(order.jobs)
        given_back = [key_of(self._jobs.pop()) for _ in range(min(order.return_jobs, len(self._jobs)))]
        ended = [pair for group in order.cut for pair in self._engine.abort_group(group)]
        until = time.monotonic() + _SLICE_S
        while not ended and self._has_work() and time.monotonic() < until:
            ended += self._engine.step(lambda: self._jobs.popleft() if self._jobs else None)
        return self._progress(ended, given_back)

    def state(self) -> tuple[WorkerReply, State]:
        """Return the new results, and the episodes in progress as JSON."""
        progress = self._progress(self._engine.drain_envs())
        return progress, engine_state(self._engine)

    def _has_work(self) -> bool:
        return bool(self._engine.active or self._engine.retry_queue or self._jobs)

    def _progress(self, ended: Iterable[tuple[Job, Episode]], given_back: Sequence[Key] = ()) -> WorkerReply:
        return WorkerReply(
            ended=[(key_of(job), episode) for job, episode in ended],
            given_back=given_back,
            num_waiting=len(self._jobs),
            tokens_processed=self._engine.backend.tokens_processed,
        )
