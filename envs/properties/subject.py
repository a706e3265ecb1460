"""The subject of a property check: an environment, policies for it, and recorded frames."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cairn.core.seeding import python_generator
from cairn.envs import registry
from cairn.envs.base import EnvMeta, TextEnv

Info = Mapping[str, Any]  # Any: the `info` of `TextEnv.step`
Policy = Callable[[TextEnv, str, Info], str]  # the environment, its last text and info -> the next action


FEWEST = 2  # minimum number of episodes with a share below 1
NONSENSE = "xyzzy frobnicate"  # an action without effect in all environments


class PropertyViolation(Exception):  # noqa: N818  (a finding, not an error of the checker)
    """A violated property; the message has the place, the expected and the actual result."""


def require(holds: bool, broken: str) -> None:
    """Raise `PropertyViolation` with this message unless the condition holds."""
    if not holds:
        raise PropertyViolation(broken)


@contextmanager
def in_time(env: TextEnv, call: str) -> Iterator[None]:
    """Raise `PropertyViolation` if a call exceeds its declared time; in the main thread only.

    A call in native code is interrupted on its return to Python.
    """
    limit = env.meta.call_timeout_s
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        raise PropertyViolation(f"{call} has not come back after {limit:g} s, which is meta.call_timeout_s")

    handler = signal.signal(signal.SIGALRM, end)
    began, (left, interval) = time.monotonic(), signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:  # continue a previous timer
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 1e-3), interval)


@dataclass(frozen=True)
class Subject:
    """The environment under test."""

    env_id: str  # registered id or dotted path
    config: Mapping[str, Any] = field(default_factory=dict)
    share: float = 1.0  # share of the episodes and resets of a check; below 1 for a faster check

    @cached_property
    def env(self) -> TextEnv:
        """An instance that checks share."""
        return self.make()

    def make(self, **over: Any) -> TextEnv:  # Any: fields of the environment's Config
        """Return a fresh instance, with some changed settings."""
        return registry.make(self.env_id, **{**self.config, **over})

    def tasks(self, limit: int) -> list[str]:
        """Return up to `limit` task ids, evenly spread over all of them."""
        names = self.env.tasks()
        count = min(limit, len(names))
        return [names[i * len(names) // count] for i in range(count)]

    def scaled(self, count: int) -> int:
        """Return `count` scaled by the share, but at least two (or `count`, if that is less)."""
        return max(min(count, FEWEST), round(count * self.share))

    def episodes(self, count: int) -> list[tuple[str, int]]:
        """Return the share of `count` pairs of task and seed; tasks repeat with other seeds."""
        return self.all_episodes(self.scaled(count))

    def all_episodes(self, count: int) -> list[tuple[str, int]]:
        """Return `count` such pairs regardless of the share, for promises about many episodes."""
        names = self.tasks(count)
        return [(names[i % len(names)], i) for i in range(count)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The result of one action; an episode's first frame is the result of `reset`."""

    action: str | None  # None: reset
    text: str
    reward: float
    is_terminated: bool
    is_truncated: bool
    info: Info

    @property
    def is_last(self) -> bool:
        """Whether the episode ended here."""
        return self.is_terminated or self.is_truncated


def play(env: TextEnv, task: str, seed: int, policy: Policy, max_steps: int = 1 << 30) -> Iterator[Frame]:
    """Yield an episode frame by frame, to its end or up to `max_steps` actions."""
    with in_time(env, f"reset, of task {task!r},"):
        text, info = env.reset(seed=seed, options={"task": task})
    start = Frame(action=None, text=text, reward=0.0, is_terminated=False, is_truncated=False, info=info)
    yield start
    yield from play_on(env, start, policy, max_steps)


def play_on(env: TextEnv, start: Frame, policy: Policy, max_steps: int) -> Iterator[Frame]:
    """Yield the frames after `start`, the environment's current frame."""
    frame = start
    for _ in range(max_steps):
        action = policy(env, frame.text, frame.info)
        with in_time(env, f"step({action!r:.80}), of task {env.task_id!r},"):
            text, reward, is_terminated, is_truncated, info = env.step(action)
        frame = Frame(
            action=action, text=text, reward=reward, is_terminated=is_terminated, is_truncated=is_truncated, info=info
        )
        yield frame
        if frame.is_last:
            return


def last(env: TextEnv, task: str, seed: int, policy: Policy) -> Frame:
    """Play an episode to its end and return its last frame."""
    *_, frame = play(env, task, seed, policy)
    return frame


def constant(action: str) -> Policy:
    """Return a policy that always returns the same action."""
    return lambda env, text, info: action


def oracle(name: str) -> Policy:
    """Return the policy of the environment's own oracle."""
    return lambda env, text, info: env.oracle(name)


def best(meta: EnvMeta, *seed: int | str) -> Policy:
    """Return the environment's default oracle, or a random policy without one."""
    return oracle(meta.oracles[0]) if meta.oracles else wander(*seed)


def script(actions: list[str]) -> Policy:
    """Return a policy that returns these actions in order."""
    remaining = iter(actions)
    return lambda env, text, info: next(remaining)


def wander(*seed: int | str) -> Policy:
    """Return a random policy.

    It selects any admissible action, or words of the last text if none are listed.
    """
    rng = python_generator("wander", *seed)
    return lambda env, text, info: _random_action(rng, text, info)


def explore(*seed: int | str) -> Policy:
    """Return a random policy that follows the oracle half of the time, to get far in a task."""
    rng = python_generator("explore", *seed)

    def choose(env: TextEnv, text: str, info: Info) -> str:
        if env.meta.oracles and rng.random() < 0.5:
            return env.oracle()
        return _random_action(rng, text, info)

    return choose


def _random_action(rng: random.Random, text: str, info: Info) -> str:
    admissible = info.get("admissible_actions")
    if admissible:
        return str(rng.choice(list(admissible)))
    words = text.split() or ["look"]
    return " ".join(rng.choice(words) for _ in range(rng.randint(1, 3)))
