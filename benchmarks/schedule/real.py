"""The real engine with environments and a back end that sleep, against its simulation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cairn.agents.backend import Reply, Request
from cairn.agents.context.base import Prompt
from cairn.agents.forms.base import Parsed
from cairn.agents.rollout.engine import Engine
from cairn.agents.rollout.episode import Job, PolicyInterface
from cairn.agents.rollout.schedule import ScheduleConfig
from cairn.agents.rollout.source import Rollout
from cairn.benchmarks.outcome import Row, row
from cairn.benchmarks.schedule.simulator import Mode, SimulatedWorld, simulate
from cairn.core.errors import EpisodeFailure
from cairn.core.records import Observation, Task

WORLD = SimulatedWorld(
    in_flight=8, group=2, env_s=0.03, env_spread=1.0, one_rate=2000.0, busy_at=1.0, learn_s=0.05, most_turns=20
)  # fmt: skip
Plan = list[tuple[float, float]]  # an episode's turns: tokens of the reply, seconds of the environment


def compare(modes: dict[str, Mode], quick: bool) -> list[Row]:
    """Return the relative error of the simulated episodes per second, for each schedule."""
    world = replace(WORLD, updates=3 if quick else 8)
    rows = []
    for name, mode in modes.items():
        found, expected = played(world, mode), simulate(world, mode).rate
        what = f"schedule: real engine against its simulation, {name}, {world.in_flight} in flight"
        rows.append(row(what, abs(found / expected - 1), "share off", "<= 0.25", f"{expected:.2f} episodes/s"))
    return rows


def played(world: SimulatedWorld, mode: Mode) -> float:
    """Return the real engine's episodes per second, without the first update (start-up)."""
    source = world.episodes()
    backend = _Sleeper(world)
    pool = _Pool(source, backend.num_slots)
    engine = Engine(backend, pool, PolicyInterface(new_context=_Silent, decode=lambda _: "go", constrain=False))
    rules = ScheduleConfig(over_provision=mode.over_provision, staleness=mode.staleness)
    batch = max(int(world.in_flight / world.group / mode.batches), 1)
    rollout = Rollout(engine, batch, rules, lambda number: _jobs(number, world.group))
    start = 0.0
    for update in range(world.updates + 1):
        if update == 1:
            start = time.perf_counter()
        rollout.next_batch()
        time.sleep(world.learn_s * batch * world.group / world.in_flight)
        rollout.sync_weights(update + 1)
    engine.close()
    return world.updates * batch * world.group / (time.perf_counter() - start)


def _jobs(number: int, size: int) -> list[Job]:
    return [Job(task=Task(env_id="sleep", task_id=""), group_id=number, sample_seed=i) for i in range(size)]


class _Pool:
    """A pool of environments that sleep for the times of their plan."""

    def __init__(self, source: Iterator[Plan], threads: int) -> None:
        self._source, self._lock, self.threads = source, threading.Lock(), threads

    def lease(self) -> _Env:
        """Return an environment with the next episode's plan."""
        with self._lock:
            return _Env(next(self._source))

    def release(self, handle: Any) -> None:
        """Do nothing: environments are not reused."""

    def close(self) -> None:
        """Do nothing: the pool has no resources."""


class _Env:
    def __init__(self, plan: Plan) -> None:
        self._plan = iter(plan)
        self._turn = next(self._plan)

    def reset(self, **_: Any) -> tuple[str, dict[str, Any]]:
        return self._observation()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        time.sleep(self._turn[1])
        turn = next(self._plan, None)
        self._turn = turn or (0.0, 0.0)
        text, info = self._observation()
        return text, 0.0, turn is None, False, info

    def _observation(self) -> tuple[str, dict[str, Any]]:
        info = {"anchor": 0, "admissible_actions": None, "success": False, "score": 0.0}
        return str(int(self._turn[0])), info


class _Silent:
    """A context whose prompt is the length of the reply in tokens."""

    def prompt(self, observation: Observation) -> Prompt:
        return Prompt((int(observation.text),), extends=False)

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int], reply_text: str = "") -> None:
        pass

    def render(self, action: str) -> tuple[int, ...]:
        return ()

    def parse(self, reply: str, *, truncated: bool = False) -> Parsed:
        return Parsed(action=reply, is_valid=True)


class _Sleeper:
    """A back end whose replies take time in proportion to their length."""

    def __init__(self, world: SimulatedWorld) -> None:
        self.num_slots, self.version, self.tokens_processed = world.in_flight, 0, 0
        self.cache_tokens: int | None = None
        self._rate = world.one_rate
        self._ends: dict[int, float] = {}

    def submit(self, slot: int, request: Request) -> None:
        self._ends[slot] = time.perf_counter() + request.prompt_ids[0] / self._rate

    def step(self) -> list[tuple[int, Reply | EpisodeFailure]]:
        time.sleep(0.001)
        now = time.perf_counter()
        done = [slot for slot, end in self._ends.items() if end <= now]
        for slot in done:
            del self._ends[slot]
        return [(slot, self._reply()) for slot in done]

    def _reply(self) -> Reply:
        ids, logprobs = np.zeros(1, np.int32), np.zeros(1, np.float32)
        return Reply(ids=ids, logprobs=logprobs, constraint=None, finish="end", version=self.version)

    def so_far(self, slot: int) -> Reply | None:
        return None

    def abort(self, slot: int) -> None:
        self._ends.pop(slot, None)

    def fork(self, source: int, target: int) -> None:
        raise NotImplementedError("nothing here forks")

    def sync_weights(self, version: int) -> None:
        self.version = version

    def close(self) -> None:
        pass
