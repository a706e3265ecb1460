"""Many episodes in flight over one back end: as soon as an episode ends, its slot takes the next job.

Failures of ours are marked on the episode, retried within a bound with a fresh environment, and returned with the rest:
nothing is dropped. What a reply contains never raises here.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from cairn.agents.backend import Backend, Reply, Request
from cairn.agents.context.base import Context, Prompt
from cairn.agents.play import Environment, observe
from cairn.core.errors import EpisodeFailure
from cairn.core.records import Ending, Episode, Observation, Task, Turn

E = TypeVar("E", bound=Environment)


class Pool(Protocol[E]):
    """Lends environments to episodes."""

    def lease(self) -> E:
        """Return an environment that nobody else has."""

    def release(self, handle: E, /) -> None:
        """Take it back; a failed one is replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One episode to play."""

    task: Task
    group_id: int
    sample_seed: int  # of the draws that choose its tokens


@dataclass(slots=True)
class _Flight(Generic[E]):
    """An episode under way."""

    number: int
    job: Job
    env: E | None  # None: none could be had
    context: Context
    rng: random.Random
    attempt: int
    observation: Observation
    prompt: Prompt
    choices: list[tuple[int, ...]] | None = None  # what its reply is one of; None: anything
    turns: list[Turn] = field(default_factory=list)
    score: float = 0.0
    success: bool = False


@dataclass
class Collector(Generic[E]):
    """Plays jobs with one back end, one pool and one kind of context."""

    backend: Backend
    pool: Pool[E]
    new_context: Callable[[], Context]
    decode: Callable[[Sequence[int]], str]
    constrain: bool = True  # replies are admissible actions, wherever the environment lists them
    retries: int = 1  # further attempts at an episode that failed

    def collect(self, jobs: Iterable[Job], on_episode: Callable[[Episode], None] | None = None) -> list[Episode]:
        """Play every job and return the episodes in the jobs' order."""
        waiting = deque((number, job, 0) for number, job in enumerate(jobs))
        done: dict[int, Episode] = {}
        flights: dict[int, _Flight[E]] = {}
        free = list(range(self.backend.num_slots))[::-1]

        def settle(flight: _Flight[E], episode: Episode) -> None:
            if flight.env is not None:
                self.pool.release(flight.env)
            if episode.is_failed and flight.attempt < self.retries:
                waiting.append((flight.number, flight.job, flight.attempt + 1))
                return
            done[flight.number] = episode
            if on_episode is not None:
                on_episode(episode)

        while waiting or flights:
            while waiting and free:
                flight, failed = self._start(*waiting.popleft())
                if failed is not None:
                    settle(flight, failed)
                    continue
                flights[slot := free.pop()] = flight
                self._submit(slot, flight)
            for slot, reply in self.backend.step():
                flight = flights[slot]
                episode = self._advance(flight, reply)
                if episode is None:
                    self._submit(slot, flight)
                    continue
                del flights[slot]
                free.append(slot)
                settle(flight, episode)
        return [done[number] for number in sorted(done)]

    def _start(self, number: int, job: Job, attempt: int) -> tuple[_Flight[E], Episode | None]:
        """Begin an episode; the second part is there if it failed at once."""
        flight: _Flight[E] = _Flight(
            number=number,
            job=job,
            env=None,
            context=self.new_context(),
            rng=random.Random(job.sample_seed),
            attempt=attempt,
            observation=Observation(text="", anchor=0),
            prompt=Prompt((), extends=False),
        )
        try:
            flight.env = self.pool.lease()
            flight.observation = observe(*flight.env.reset(seed=job.task.seed, options={"task": job.task.task_id}))
            self._look(flight)
        except EpisodeFailure as failure:
            return flight, _failed(flight, failure)
        return flight, None

    def _look(self, flight: _Flight[E]) -> None:
        """Prepare the request that the present observation calls for."""
        flight.prompt = flight.context.prompt(flight.observation)
        flight.choices = None
        if self.constrain and flight.observation.admissible:
            flight.choices = [flight.context.render(action) for action in flight.observation.admissible]

    def _submit(self, slot: int, flight: _Flight[E]) -> None:
        prompt = flight.prompt
        self.backend.submit(
            slot, Request(prompt_ids=prompt.ids, extends=prompt.extends, choices=flight.choices, rng=flight.rng)
        )

    def _advance(self, flight: _Flight[E], reply: Reply) -> Episode | None:
        """Carry out a reply; return the episode if that ended it."""
        if reply.finish == "context":
            return _ended(flight, Ending.truncated("tokens"))
        text = self.decode((reply.ids[:-1] if reply.finish == "end" else reply.ids).tolist())
        parsed = flight.context.parse(text)
        began = time.perf_counter()
        assert flight.env is not None
        try:
            seen, reward, is_over, is_cut, info = flight.env.step(parsed.action)
            flight.turns.append(
                Turn(
                    observation=flight.observation,
                    reply_text=text,
                    action=parsed.action,
                    reward=float(reward),
                    is_valid=parsed.is_valid,
                    prompt_ids=np.array(flight.prompt.ids, np.int32),
                    extends_previous=flight.prompt.extends,
                    reply_ids=reply.ids,
                    reply_logprobs=reply.logprobs,
                    constraint=reply.constraint,
                    policy_version=reply.version,
                    seconds=time.perf_counter() - began,
                )
            )
            flight.context.record(flight.observation, parsed.action)
            flight.observation = observe(seen, info)
            flight.score, flight.success = float(info["score"]), bool(info["success"])
            if is_over or is_cut:
                return _ended(flight, Ending.terminated() if is_over else Ending.truncated("turns"))
            self._look(flight)
        except EpisodeFailure as failure:
            return _failed(flight, failure)
        return None


def _ended(flight: _Flight[Any], ending: Ending) -> Episode:
    return Episode(
        task=flight.job.task,
        group_id=flight.job.group_id,
        turns=tuple(flight.turns),
        ending=ending,
        score=flight.score,
        success=flight.success,
        final=flight.observation,
    )


def _failed(flight: _Flight[Any], failure: EpisodeFailure) -> Episode:
    ending = Ending.failed(failure.cause, str(failure))  # type: ignore[arg-type]  # causes are declared as str
    return Episode(
        task=flight.job.task,
        group_id=flight.job.group_id,
        turns=tuple(flight.turns),
        ending=ending,
        score=None,
        success=None,
    )
