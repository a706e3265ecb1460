"""Simulates rollouts as events on a virtual clock.

Replies share a GPU, environments run in parallel, and updates take whole groups.

Distributions are heavy-tailed: the time of an environment's step, the length of a reply and the number of turns (at
most `most_turns`) are lognormal. The GPU gives each of n replies min(`one_rate`, `all_rate` / n) tokens per second. An
update with the number of episodes in flight takes `learn_s` seconds on all devices; meanwhile sampling pauses, but
running environment steps continue. If the learner has separate devices (a quarter), an update takes four times as long,
and sampling continues on the other three quarters.

Not modelled: prompts (included in replies), the time of a weight update, failures.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from cairn.agents.rollout.schedule import GroupSchedule, ScheduleConfig

_Z99 = 2.326
_LEARNER_SHARE = 0.25


@dataclass(frozen=True)
class Mode:
    """A schedule of rollouts and updates."""

    batches: float = 1.0  # number of batches in flight
    over_provision: float = 0.0
    staleness: int = 0
    is_apart: bool = False  # the learner has separate devices


@dataclass(frozen=True, kw_only=True)
class SimulatedWorld:
    """The simulated machines and tasks."""

    in_flight: int  # concurrent episodes: environments, and slots of the back end
    group: int = 8
    updates: int = 8
    env_s: float = 1.0  # median
    env_spread: float = 1.2  # of the logarithm
    reply_tokens: float = 60.0  # median
    reply_spread: float = 0.8
    turns: float = 10.0  # median
    turns_spread: float = 0.6
    most_turns: int = 30
    one_rate: float = 60.0  # tokens per second of a single reply on the GPU
    busy_at: float = 0.25  # share of the episodes in flight whose replies saturate the GPU
    learn_s: float = 0.5  # of an update with `in_flight` episodes on all devices
    seed: int = 0

    @property
    def all_rate(self) -> float:
        """Tokens per second of the saturated GPU."""
        return self.one_rate * max(self.in_flight * self.busy_at, 1.0)

    @property
    def env_p99_s(self) -> float:
        """99th percentile of an environment's step."""
        return self.env_s * math.exp(_Z99 * self.env_spread)

    @property
    def reply_p99_tokens(self) -> float:
        """99th percentile of a reply."""
        return self.reply_tokens * math.exp(_Z99 * self.reply_spread)

    def episodes(self) -> Iterator[list[tuple[float, float]]]:
        """Yield an infinite sequence of episodes: each turn's tokens and environment seconds."""
        rng = np.random.default_rng(self.seed)
        while True:
            count = int(min(max(round(rng.lognormal(math.log(self.turns), self.turns_spread)), 1), self.most_turns))
            tokens = rng.lognormal(math.log(self.reply_tokens), self.reply_spread, count)
            seconds = rng.lognormal(math.log(self.env_s), self.env_spread, count)
            yield list(zip(tokens.tolist(), seconds.tolist(), strict=True))


@dataclass(frozen=True)
class SimulationResult:
    """The result of a simulation."""

    rate: float  # training episodes per second
    gpu_use: float  # share of the GPU's capacity in use, including learning
    env_use: float  # share of the environments' time spent in steps
    staleness: int  # largest, in updates


def simulate(world: SimulatedWorld, mode: Mode | None) -> SimulationResult:
    """Return the simulated result of `world.updates` updates; `mode` None: lock-step."""
    return _LockStep(world).run() if mode is None else _Events(world, mode).run()


class _LockStep:
    """All episodes of an update take their turns together.

    Each reply waits for the longest one, and so does each step.
    """

    def __init__(self, world: SimulatedWorld) -> None:
        self.world = world

    def run(self) -> SimulationResult:
        world = self.world
        source = world.episodes()
        now = tokens_done = env_done = 0.0
        for _ in range(world.updates):
            episodes = [next(source) for _ in range(world.in_flight)]
            for turn in range(world.most_turns):
                active = [episode[turn] for episode in episodes if len(episode) > turn]
                if active:
                    now += self._sampling_time(sorted(tokens for tokens, _ in active)) + max(s for _, s in active)
                    tokens_done += sum(tokens for tokens, _ in active)
                    env_done += sum(seconds for _, seconds in active)
            now += world.learn_s
        learning = world.updates * world.learn_s * world.all_rate
        return SimulationResult(
            rate=world.updates * world.in_flight / now,
            gpu_use=(tokens_done + learning) / (now * world.all_rate),
            env_use=env_done / (now * world.in_flight),
            staleness=0,
        )

    def _sampling_time(self, tokens: list[float]) -> float:
        """Return the time of concurrent replies with ascending lengths `tokens`."""
        spent = done = 0.0
        for i, length in enumerate(tokens):
            spent += (length - done) / min(self.world.one_rate, self.world.all_rate / (len(tokens) - i))
            done = length
        return spent


@dataclass
class _Gpu:
    """Replies that share a GPU; each receives equally many tokens, counted by `served`."""

    one_rate: float
    all_rate: float
    served: float = 0.0
    seen: float = 0.0  # clock
    total: float = 0.0
    is_paused: bool = False
    replies: list[tuple[float, int]] = field(default_factory=list)  # heap of (served at its end, episode)

    def advance(self, now: float) -> None:
        """Serve tokens until `now`."""
        more = (now - self.seen) * self._speed()
        self.served += more
        self.total += more * len(self.replies)
        self.seen = now

    def next_end(self) -> float:
        """Return the end time of the next reply if nothing changes."""
        if not self.replies or self.is_paused:
            return math.inf
        return self.seen + max(self.replies[0][0] - self.served, 0.0) / self._speed()

    def _speed(self) -> float:
        return 0.0 if self.is_paused or not self.replies else min(self.one_rate, self.all_rate / len(self.replies))


class _Events:
    """Asynchronous episodes; the real scheduling rules select batches."""

    def __init__(self, world: SimulatedWorld, mode: Mode) -> None:
        self.world, self.is_apart = world, mode.is_apart
        self.batch = max(int(world.in_flight / world.group / mode.batches), 1)
        rules = ScheduleConfig(over_provision=mode.over_provision, staleness=mode.staleness)
        self.schedule = GroupSchedule[int](self.batch, rules)
        share = 1 - _LEARNER_SHARE if self.is_apart else 1.0
        self.gpu = _Gpu(world.one_rate, world.all_rate * share)
        self.source = world.episodes()
        self.numbers = itertools.count()
        self.active: dict[int, tuple[int, deque[tuple[float, float]]]] = {}  # episode -> group, remaining turns
        self.left: dict[int, int] = {}  # group -> number of unfinished episodes
        self.queue: list[int] = []  # groups of the episodes that may start
        self.working: list[tuple[float, int]] = []  # heap of (end, episode) in environments
        self.learning_until = math.inf
        self.published = 0
        self.now = self.env_done = 0.0
        self.staleness = 0

    def run(self) -> SimulationResult:
        world = self.world
        start, trained, env_before, tokens_before = 0.0, 0, 0.0, 0.0
        while self.published < world.updates + 1:
            if self.published == 1 and start == 0.0:  # the first update is the start-up phase
                start, env_before, tokens_before = self.now, self.env_done, self.gpu.total
            self._begin()
            self._take()
            self._next_event()
        trained = world.updates * self.batch * world.group
        seconds = self.now - start
        learning = self._learn_s() * world.updates * world.all_rate * (_LEARNER_SHARE if self.is_apart else 1.0)
        return SimulationResult(
            rate=trained / seconds,
            gpu_use=(self.gpu.total - tokens_before + learning) / (seconds * world.all_rate),
            env_use=(self.env_done - env_before) / (seconds * world.in_flight),
            staleness=self.staleness,
        )

    def _learn_s(self) -> float:
        """Return the time of an update, by its number of episodes and the learner's devices."""
        whole = self.world.learn_s * self.batch * self.world.group / self.world.in_flight
        return whole / _LEARNER_SHARE if self.is_apart else whole

    def _begin(self) -> None:
        while len(self.active) < self.world.in_flight:
            if not self.queue:
                if not self.schedule.may_begin(self.published):
                    return
                number = next(self.numbers)
                self.schedule.begin(number, self.published)
                self.left[number] = self.world.group
                self.queue = [number] * self.world.group
            episode = next(self.numbers)
            self.active[episode] = (self.queue.pop(), deque(next(self.source)))
            self._sample(episode)

    def _sample(self, episode: int) -> None:
        self.gpu.advance(self.now)
        heapq.heappush(self.gpu.replies, (self.gpu.served + self.active[episode][1][0][0], episode))

    def _take(self) -> None:
        if self.learning_until < math.inf:
            return
        version = self.schedule.version
        if (taken := self.schedule.take()) is not None:
            self.staleness = max(self.staleness, *(version - began.version for began in taken))
            self.learning_until = self.now + self._learn_s()
            self.gpu.advance(self.now)
            self.gpu.is_paused = not self.is_apart

    def _next_event(self) -> None:
        replied, stepped = self.gpu.next_end(), self.working[0][0] if self.working else math.inf
        self.now = min(replied, stepped, self.learning_until)
        assert self.now < math.inf, "nothing is left to happen"
        self.gpu.advance(self.now)
        if self.now == self.learning_until:
            self.learning_until, self.gpu.is_paused = math.inf, False
            self.published += 1
        elif self.now == stepped:
            self._stepped(heapq.heappop(self.working)[1])
        else:
            episode = heapq.heappop(self.gpu.replies)[1]
            heapq.heappush(self.working, (self.now + self.active[episode][1][0][1], episode))

    def _stepped(self, episode: int) -> None:
        group, turns = self.active[episode]
        self.env_done += turns.popleft()[1]
        if turns:
            self._sample(episode)
            return
        del self.active[episode]
        self.left[group] -= 1
        if not self.left[group]:
            del self.left[group]
            self.schedule.complete(group)
