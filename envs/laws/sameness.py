"""Laws of sameness: one task, seed and action list give one episode, here, later, elsewhere, and from a snapshot."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np

from cairn.core.errors import CairnError
from cairn.core.seeding import python_generator
from cairn.envs.base import TextEnv
from cairn.envs.laws.subject import Frame, Info, LawBroken, Policy, Subject, explore, play, play_on, require, script

_STEPS = 25


def replay(subject: Subject) -> str:
    """The same actions give the same episode again: on this instance, later, and on a new one."""
    if not subject.env.meta.is_deterministic:
        return "not promised by this environment"
    count = 0
    for task, seed in subject.episodes(8):
        first = list(play(subject.env, task, seed, explore("replay", seed), _STEPS))
        actions = actions_of(first)
        for env in (subject.env, subject.make()):
            again = list(play(env, task, seed, script(actions), len(actions)))
            require_equal(first, again, f"task {task!r}, seed {seed}, played again")
            count += len(again)
    return f"{count} frames equal"


def global_random_state(subject: Subject) -> str:
    """The process's own random state is neither used nor changed."""
    before = _global_state()
    for task, seed in subject.episodes(4):
        list(play(subject.make(), task, seed, explore("global", seed), _STEPS))
        after = _global_state()
        require(
            before[0] == after[0], f"task {task!r}: the state of `random` changed; use the generator that `start` gets"
        )
        require(
            before[1] == after[1],
            f"task {task!r}: the state of `numpy.random` changed; use the generator that `start` gets",
        )
    return "random and numpy.random untouched"


def _global_state() -> tuple[str, str]:
    return repr(random.getstate()), repr([np.asarray(part).tolist() for part in np.random.get_state(legacy=True)])


def anchors(subject: Subject) -> str:
    """Equal anchors have equal futures: text, reward, ending and anchor after any action. Tasks share no anchor."""
    if not subject.env.meta.is_deterministic:
        return "not promised by this environment"
    future: dict[tuple[int, str], tuple[tuple[object, ...], str]] = {}
    owner: dict[int, str] = {}
    revisits = 0
    for task in subject.tasks(subject.scaled(8)):
        known: dict[int, list[str]] = {}
        for walk in range(6):
            frames = list(play(subject.env, task, walk % 2, retrace(known, task, walk), 2 * _STEPS))
            for frame in frames:
                other = owner.setdefault(frame.info["anchor"], task)
                require(other == task, f"tasks {task!r} and {other!r} share the anchor {frame.info['anchor']}")
            revisits += compare_futures(future, frames, f"task {task!r}, walk {walk}")
    return f"{revisits} of {len(future) + revisits} steps were taken again from an equal anchor"


def compare_futures(
    future: dict[tuple[int, str], tuple[tuple[object, ...], str]], frames: list[Frame], where: str
) -> int:
    """Record what each (anchor, action) led to; return how many were there before."""
    revisits = 0
    for before, after in pairwise(frames):
        key = (before.info["anchor"], after.action or "")
        led_to = (after.text, after.reward, after.is_terminated, after.info["success"], after.info["anchor"])
        earlier, there = future.setdefault(key, (led_to, where))
        revisits += there is not where
        require(
            earlier == led_to,
            f"{where}: from one anchor {after.action!r:.80} led to {led_to!r:.200}, but in {there} to {earlier!r:.200}",
        )
    return revisits


def retrace(known: dict[int, list[str]], task: str, walk: int) -> Policy:
    """Explore; where an anchor is known, do again what was done there half of the time."""
    rng = python_generator("retrace", task, walk)
    wanders = explore("anchors", task, walk)

    def choose(env: TextEnv, text: str, info: Info) -> str:
        done = known.setdefault(info["anchor"], [])
        action = rng.choice(done) if done and rng.random() < 0.5 else wanders(env, text, info)
        done.append(action)
        return action

    return choose


def snapshot(subject: Subject) -> str:
    """After `restore`, here or on another instance, the same actions lead to the same frames."""
    if not subject.env.meta.can_snapshot:
        return _cannot_snapshot(subject)
    for task, seed in subject.episodes(6):
        env, other = subject.env, subject.make()
        start = list(play(env, task, seed, explore("snapshot", seed), 5))
        if start[-1].is_last:
            continue
        saved = env.snapshot()
        onward = list(play_on(env, start[-1], explore("onward", seed), 10))
        actions = actions_of(onward)
        for target in (env, other, env):
            target.restore(saved)
            require(target.anchor() == start[-1].info["anchor"], f"task {task!r}: restore leads to another anchor")
            again = list(play_on(target, start[-1], script(actions), len(actions)))
            require_equal(onward, again, f"task {task!r}, from a snapshot")
    return "6 snapshots restored three times each"


def _cannot_snapshot(subject: Subject) -> str:
    subject.env.reset(seed=0)
    try:
        subject.env.snapshot()
    except CairnError:
        return "the environment offers none, and says so"
    raise LawBroken("snapshot() works although meta.can_snapshot is False")


def actions_of(frames: list[Frame]) -> list[str]:
    """Return the actions of an episode."""
    return [frame.action for frame in frames if frame.action is not None]


def require_equal(expected: list[Frame], got: list[Frame], where: str) -> None:
    """Raise `LawBroken` with the first frame and field that differ."""
    require(len(expected) == len(got), f"{where}: {len(expected)} frames, then {len(got)}")
    for index, (one, two) in enumerate(zip(expected, got, strict=True)):
        for name in ("text", "reward", "is_terminated", "is_truncated", "info"):
            a, b = getattr(one, name), getattr(two, name)
            require(a == b, f"{where}, frame {index}: {name} was {a!r:.150}, then {b!r:.150}")
