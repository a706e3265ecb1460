"""Properties of reproducibility: task, seed and actions determine the episode.

This holds at any time and from a snapshot.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cairn.core.errors import CairnError
from cairn.core.seeding import python_generator
from cairn.envs.base import TextEnv
from cairn.envs.properties.subject import (
    NONSENSE,
    Frame,
    Info,
    Policy,
    PropertyViolation,
    Subject,
    explore,
    play,
    play_on,
    require,
    script,
)

_STEPS = 25
_WALKS = 4  # walks per task, to compare equal anchors
_SHOWN = 6  # actions of a history in messages, from the first difference


def replay(subject: Subject) -> str:
    """The same actions give the same episode on the same instance and on a new one."""
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
    """The global random state of the process is neither used nor changed."""
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
    """With `is_deterministic`, equal anchors and actions give equal results.

    Tasks share no anchor.
    """
    if not subject.env.meta.is_deterministic:
        return "not promised by this environment"
    future: Future = {}
    owner: dict[int, str] = {}
    revisits = 0
    for task in subject.tasks(subject.scaled(8)):
        for seed, frames in _plays(subject.env, task):
            for frame in frames:
                other = owner.setdefault(frame.info["anchor"], task)
                require(other == task, f"tasks {task!r} and {other!r} share the anchor {frame.info['anchor']}")
            revisits += compare_futures(future, frames, f"task {task!r}", seed)
    return f"{revisits} of {len(future) + revisits} steps were taken again from an equal anchor"


def _plays(env: TextEnv, task: str) -> Iterator[tuple[int, list[Frame]]]:
    """Yield plays of a task with their seeds.

    They are random walks, one of them with other seeds, and one with additional nonsense actions.
    """
    known: dict[int, list[str]] = {}
    walks = []
    for walk in range(_WALKS):
        walks.append(_played(env, task, walk % 3, retrace(known, task, walk), 2 * _STEPS))
        yield walk % 3, walks[-1]
    actions = actions_of(walks[0])
    for seed in (1, 2, 3):
        yield seed, _played(env, task, seed, script(actions), len(actions))
    actions = actions_of(walks[1])
    middle = len(actions) // 2
    actions = [NONSENSE, *actions[:middle], NONSENSE, *actions[middle:]]
    yield 1, _played(env, task, 1, script(actions), len(actions))


def _played(env: TextEnv, task: str, seed: int, policy: Policy, max_steps: int) -> list[Frame]:
    frames = list(play(env, task, seed, policy, max_steps))
    if env.turn >= env.turn_limit:
        frames.pop()  # an environment may judge its last turn; anchors do not include the number of turns
    return frames


@dataclass(frozen=True, slots=True)
class StepVisit:
    """A step of a play: its history and the results of its action."""

    frames: list[Frame]  # of the play
    at: int  # index in `frames` of the frame after the action
    seed: int

    def results(self) -> dict[str, object]:
        """Return all results that must be equal for equal anchors and actions."""
        frame = self.frames[self.at]
        return {
            "text": frame.text,
            "reward": frame.reward,
            "is_terminated": frame.is_terminated,
            "success": frame.info["success"],
            "anchor": frame.info["anchor"],
        }

    def history(self) -> list[str]:
        """Return the actions before this one."""
        return actions_of(self.frames[: self.at])


Future = dict[tuple[int, str], StepVisit]  # (anchor, action) -> the first step that took the action from there


def compare_futures(future: Future, frames: list[Frame], where: str, seed: int) -> int:
    """Record first results of each (anchor, action), compare later ones; return their number.

    Raises:
        PropertyViolation: equal anchors and actions gave different results; the message has the difference of the two
            histories.
    """
    revisits = 0
    for at, (before, after) in enumerate(pairwise(frames), 1):
        visit = StepVisit(frames, at, seed)
        first = future.setdefault((before.info["anchor"], after.action or ""), visit)
        revisits += first.frames is not frames
        if first is not visit and (results := visit.results()) != (expected := first.results()):
            name = next(name for name in results if results[name] != expected[name])
            raise PropertyViolation(
                f"{where}: {after.action!r:.80} from one anchor gave different results: {name} {expected[name]!r:.120} "
                f"and {results[name]!r:.120}. {_difference(first, visit)}. Let state() hold the difference, or declare "
                "is_deterministic=False"
            )
    return revisits


def _difference(one: StepVisit, two: StepVisit) -> str:
    """Return the difference of two visits' histories as text."""
    first, second = one.history(), two.history()
    if first == second:
        return f"Both came after the same {len(first)} actions, with seeds {one.seed} and {two.seed}"
    shorter = min(len(first), len(second))
    same = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    return (
        f"The histories are equal for {same} actions, then {first[same:][:_SHOWN]!r:.200} with seed {one.seed} and "
        f"{second[same:][:_SHOWN]!r:.200} with seed {two.seed}"
    )


def retrace(known: dict[int, list[str]], task: str, walk: int) -> Policy:
    """Return a policy that explores, and at known anchors often repeats an earlier action."""
    rng = python_generator("retrace", task, walk)
    wanders = explore("anchors", task, walk)

    def choose(env: TextEnv, text: str, info: Info) -> str:
        done = known.setdefault(info["anchor"], [])
        action = rng.choice(done) if done and rng.random() < 0.5 else wanders(env, text, info)
        done.append(action)
        return action

    return choose


def snapshot(subject: Subject) -> str:
    """After `restore`, on this or another instance, the same actions lead to the same frames."""
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
    raise PropertyViolation("snapshot() works although meta.can_snapshot is False")


def actions_of(frames: list[Frame]) -> list[str]:
    """Return the actions of an episode."""
    return [frame.action for frame in frames if frame.action is not None]


def require_equal(expected: list[Frame], got: list[Frame], where: str) -> None:
    """Raise `PropertyViolation` with the first frame and field that differ."""
    require(len(expected) == len(got), f"{where}: {len(expected)} frames, then {len(got)}")
    for index, (one, two) in enumerate(zip(expected, got, strict=True)):
        for name in ("text", "reward", "is_terminated", "is_truncated", "info"):
            a, b = getattr(one, name), getattr(two, name)
            require(a == b, f"{where}, frame {index}: {name} was {a!r:.150}, then {b!r:.150}")
