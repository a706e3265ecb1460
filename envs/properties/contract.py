"""Properties of the contract: declarations, limits, scores, channels, actions and errors."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from cairn.core.errors import CairnError, ConfigError, UnknownNameError
from cairn.envs._gymnasium import name_of
from cairn.envs.base import EnvMeta
from cairn.envs.properties.subject import (
    NONSENSE,
    Frame,
    PropertyViolation,
    Subject,
    best,
    constant,
    explore,
    last,
    oracle,
    play,
    require,
    script,
    wander,
)


def declaration(subject: Subject) -> str:
    """Name, version, limits, reward range, tasks and tools are declared and valid."""
    env = subject.env
    meta = env.meta
    low, high = meta.reward_range
    require(meta.version >= 1, f"version must be 1 or more, got {meta.version}")
    require(meta.turn_limit >= 1, f"turn_limit must be 1 or more, got {meta.turn_limit}")
    require(
        math.isfinite(low) and math.isfinite(high) and low < high, f"reward_range must rise, got {meta.reward_range}"
    )
    require(bool(meta.summary.strip()), "summary is empty; listings show it")
    names = list(env.tasks())
    require(bool(names), "tasks() is empty")
    require(len(set(names)) == len(names), "tasks() names a task twice")
    require(names == list(env.tasks()) == list(subject.make().tasks()), "tasks() does not keep its order")
    tools = json.loads(json.dumps(env.tools()))
    called = [tool["function"]["name"] for tool in tools]
    require(len(set(called)) == len(called), f"tools() names a function twice: {called}")
    return (
        f"{meta.name} version {meta.version}, {len(names)} tasks, {meta.turn_limit} turns, scores {low:g} to {high:g}"
    )


def gymnasium_check(subject: Subject) -> str:
    """Gymnasium's own checker reports no warnings."""
    env = subject.make()
    env.spec = EnvSpec(
        id=name_of(env.meta.name),
        entry_point="cairn.envs.registry:make",
        kwargs={**subject.config, "env_id": subject.env_id},
        nondeterministic=not env.meta.is_deterministic,
        order_enforce=False,
        disable_env_checker=True,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env)
    require(not caught, f"Gymnasium warns: {caught[0].message if caught else ''}")
    return f"gymnasium {gymnasium.__version__}"


def budget(subject: Subject) -> str:
    """Episodes end at the turn limit; a step before the reset or after the end raises an error.

    An episode that is judged at its turn limit is terminated, not truncated.
    """
    limits = sorted({1, 3, subject.env.meta.turn_limit})
    num_at_limit = sum(_ended_at(subject, limit) for limit in limits)
    require(num_at_limit > 0, f"no episode lasted until one of the limits {limits}")
    _check_last_turn_of_oracle(subject)
    fresh = subject.make()
    require(_needs_reset(fresh), "step before the first reset must raise gymnasium.error.ResetNeeded")
    return f"limits {limits}"


def _ended_at(subject: Subject, limit: int) -> int:
    """Return the number of sampled episodes that lasted until the limit."""
    env = subject.make(turn_limit=limit)
    count = 0
    for index, (task, seed) in enumerate(subject.episodes(4)):
        frames = list(play(env, task, seed, constant("") if index % 2 else wander("budget", seed), limit + 1))
        end = frames[-1]
        turns = len(frames) - 1
        require(end.is_last and turns <= limit, f"task {task!r}: not over after {limit} turns, which is the limit")
        require(
            not (end.is_truncated and turns < limit), f"task {task!r}: truncated after {turns} turns, limit {limit}"
        )
        require(end.is_terminated != end.is_truncated, f"task {task!r}: both terminated and truncated")
        require(_needs_reset(env), f"task {task!r}: step after the end must raise gymnasium.error.ResetNeeded")
        _check_success(end, task)
        count += turns == limit
    return count


def _check_last_turn_of_oracle(subject: Subject) -> None:
    """Play an oracle with one turn less than it needs.

    A success at the limit must be a terminated episode.
    """
    if not subject.env.meta.oracles:
        return
    policy = oracle(subject.env.meta.oracles[0])
    for task, seed in subject.episodes(2):
        num_turns = len(list(play(subject.env, task, seed, policy))) - 1
        if num_turns > 1:
            _check_success(last(subject.make(turn_limit=num_turns - 1), task, seed, policy), task)


def _check_success(frame: Frame, task: str) -> None:
    require(
        frame.is_terminated or not frame.info["success"],
        f"task {task!r}, after {frame.action!r:.80}: success without is_terminated; an environment that judges an "
        "episode at its turn limit ends it: Outcome(..., terminated=True)",
    )


def _needs_reset(env: gymnasium.Env[str, str]) -> bool:
    try:
        env.step("")
    except gymnasium.error.ResetNeeded:
        return True
    return False


def score_range(subject: Subject) -> str:
    """Scores stay in range, rewards are finite numbers, and success ends an episode."""
    env = subject.env
    low, high = env.meta.reward_range
    scores: list[float] = []
    for task, seed in subject.episodes(16):
        for policy in (best(env.meta, "best score", seed), wander("score", seed)):
            for frame in play(env, task, seed, policy, 50):
                _check_frame(frame, task)
                require(
                    frame.is_last or not env.meta.has_terminal_reward or frame.reward == 0,
                    f"task {task!r}, after {frame.action!r:.80}: a reward of {frame.reward!r} before the end of the "
                    "episode; declare has_terminal_reward=False",
                )
                score = float(frame.info["score"])
                require(low <= score <= high, f"task {task!r}: score {score!r} outside {env.meta.reward_range}")
                scores.append(score)
    return f"{len(scores)} scores from {min(scores):g} to {max(scores):g}"


def _check_frame(frame: Frame, task: str) -> None:
    where = f"task {task!r}, after {frame.action!r:.80}"
    require(isinstance(frame.text, str), f"{where}: text is {type(frame.text).__name__}")
    require(
        isinstance(frame.reward, (int, float, np.number)) and math.isfinite(frame.reward),
        f"{where}: reward is {frame.reward!r}",
    )
    require(isinstance(frame.info["success"], (bool, np.bool_)), f"{where}: success is {frame.info['success']!r}")
    require(frame.info["task_id"] == task, f"{where}: info says task {frame.info['task_id']!r}")
    for name, value in frame.info.items():  # vector environments store integers as NumPy's int64
        is_whole = isinstance(value, int) or name == "anchor"
        fits = not is_whole or (isinstance(value, int) and -(1 << 63) <= value < 1 << 63)
        require(fits, f"{where}: info[{name!r}] is {value!r:.80}, expected a signed integer of 64 bits")
    _check_success(frame, task)


def channels(subject: Subject) -> str:
    """Every turn has the declared parts, which add up to its reward, and no undeclared channel."""
    meta = subject.env.meta
    require(len(set(meta.parts)) == len(meta.parts), f"meta.parts names a part twice: {meta.parts}")
    both = [name for name in meta.parts if _is_declared(name, meta.channels)]
    require(not both, f"meta.channels also matches the parts {both}; it is for other channels")
    count = 0
    for task, seed in subject.episodes(8):
        for policy in (best(meta, "best channels", seed), wander("channels", seed), constant("")):
            for frame in play(subject.env, task, seed, policy, 100):
                if frame.action is not None:
                    _check_channels(frame, meta, f"task {task!r}, after {frame.action!r:.80}")
                    count += 1
    return f"{count} turns with the parts {meta.parts} and channels {meta.channels}"


def _check_channels(frame: Frame, meta: EnvMeta, where: str) -> None:
    found: Mapping[str, float] = frame.info["channels"]
    for name in meta.parts:
        require(
            name in found,
            f"{where}: the declared part {name!r} is missing among the channels {sorted(found)}; every turn must have "
            "every part, with the value 0 where it earned nothing",
        )
    for name, value in found.items():
        require(
            name in meta.parts or _is_declared(name, meta.channels),
            f"{where}: the channel {name!r} is not declared; add it to meta.parts or to meta.channels",
        )
        is_number = isinstance(value, (int, float, np.number)) and math.isfinite(value)
        require(is_number, f"{where}: channel {name!r} is {value!r}")
    total = sum(found[name] for name in meta.parts)
    require(
        not meta.parts or math.isclose(total, frame.reward, rel_tol=1e-12, abs_tol=1e-12),
        f"{where}: the parts { ({name: found[name] for name in meta.parts}) } add up to {total!r}, but the reward is "
        f"{frame.reward!r}",
    )


def _is_declared(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def admissible(subject: Subject) -> str:
    """Admissible actions are sorted and unique, and their effect differs from that of nonsense."""
    env = subject.env
    count = 0
    for task, seed in subject.episodes(6):
        frames = list(play(env, task, seed, explore("admissible", seed), 10))
        names = [frame.info["admissible_actions"] for frame in frames]
        for actions in names:
            _check_listing(actions, task)
        past = [frame.action for frame in frames[1:] if frame.action is not None]
        for depth in {0, len(past) // 2}:
            for action in (names[depth] or ())[:: max(1, len(names[depth] or ()) // subject.scaled(6))]:
                _check_accepted(subject, task, seed, past[:depth], action)
                count += 1
    return f"{count} actions tried" if count else "the environment names none"


def _check_listing(actions: tuple[str, ...] | None, task: str) -> None:
    if actions is None:
        return
    where = f"task {task!r}: admissible_actions"
    require(isinstance(actions, tuple), f"{where} must be a tuple, got {type(actions).__name__}")
    require(list(actions) == sorted(set(actions)), f"{where} must be sorted and unique, got {actions!r:.200}")


def _check_accepted(subject: Subject, task: str, seed: int, past: list[str], action: str) -> None:
    accepted, refused = (_outcome(subject, task, seed, [*past, each]) for each in (action, NONSENSE))
    same = accepted.info["anchor"] == refused.info["anchor"] and not accepted.is_terminated
    texts = (accepted.text.replace(action, ""), refused.text.replace(NONSENSE, ""))
    require(
        not (same and texts[0] == texts[1]),
        f"task {task!r}: admissible {action!r} is answered like nonsense: {accepted.text!r:.120}",
    )


def _outcome(subject: Subject, task: str, seed: int, actions: list[str]) -> Frame:
    *_, frame = play(subject.env, task, seed, script(actions), len(actions))
    return frame


def errors(subject: Subject) -> str:
    """Unknown tasks, options, settings and oracles raise an error that lists the known ones."""
    env = subject.env
    task = subject.tasks(1)[0]
    _refused(UnknownNameError, "an unknown task", lambda: env.reset(options={"task": "no such task \ud800"}))
    _refused(CairnError, "an unknown option", lambda: env.reset(options={"task": task, "tsak": task}))
    _refused(ConfigError, "an unknown setting", lambda: subject.make(turn_limitt=3))
    _refused(ConfigError, "a turn limit of 0", lambda: subject.make(turn_limit=0))
    env.reset(seed=0, options={"task": task})
    _refused(UnknownNameError, "an unknown oracle", lambda: env.oracle("no such oracle"))
    return "5 wrong requests refused"


def _refused(kind: type[CairnError], what: str, request: Callable[[], object]) -> None:
    try:
        request()
    except kind as error:
        require(bool(str(error)), f"{what}: the error says nothing")
    except Exception as error:  # any other error violates the property, and is part of the report
        raise PropertyViolation(f"{what} must raise {kind.__name__}, got {error!r}") from error
    else:
        raise PropertyViolation(f"{what} must raise {kind.__name__}; nothing happened")
