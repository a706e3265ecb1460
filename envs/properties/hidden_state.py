"""Searches for information that `state` omits, with actions that do not change the anchor.

Such actions are inserted between the actions of a good play.
"""

from __future__ import annotations

from collections.abc import Iterable

from cairn.core.seeding import python_generator
from cairn.envs.properties.sameness import Future, actions_of, compare_futures
from cairn.envs.properties.subject import Frame, Policy, Subject, best, explore, play, script

_STEPS = 12
_TRIED = 6  # actions per position


def hidden_state(subject: Subject) -> str:
    """An action that does not change the anchor does not affect later results.

    The later actions are those of an oracle's play, if the environment has an oracle. The inserted actions come from
    plays of other tasks, from random plays and from lists of admissible actions.
    """
    env = subject.env
    if not env.meta.is_deterministic:
        return "not promised by this environment"
    episodes = subject.episodes(4)
    plays = [_played(subject, task, seed, best(env.meta, "hidden", seed)) for task, seed in episodes]
    walks = [_played(subject, task, seed, explore("hidden", seed)) for task, seed in episodes]
    others = list(dict.fromkeys(_actions([*plays, *walks])))
    revisits = 0
    for (task, seed), frames in zip(episodes, plays, strict=True):
        future: Future = {}
        compare_futures(future, frames, f"task {task!r}", seed)
        actions = actions_of(frames)
        rng = python_generator("hidden", task)
        for at in sorted({0, len(actions) // 2, max(0, len(actions) - 1)}):
            for other in rng.sample(others, min(len(others), subject.scaled(_TRIED))):
                tried = _played(subject, task, seed, script([*actions[:at], other, *actions[at:]]), len(actions) + 1)
                revisits += compare_futures(future, tried, f"task {task!r}", seed)
    return f"{revisits} steps were taken again after other actions"


def _played(subject: Subject, task: str, seed: int, policy: Policy, max_steps: int = _STEPS) -> list[Frame]:
    frames = list(play(subject.env, task, seed, policy, max_steps))
    if subject.env.turn >= subject.env.turn_limit:
        frames.pop()  # an environment may judge its last turn; anchors do not include the number of turns
    return frames


def _actions(plays: Iterable[list[Frame]]) -> Iterable[str]:
    """Yield the actions of plays, and some of their admissible actions."""
    for frames in plays:
        yield from actions_of(frames)
        for frame in frames:
            listed = frame.info["admissible_actions"] or ()
            yield from listed[:: max(1, len(listed) // 3)]
