"""Wraps a Gymnasium environment: text observations, text actions, anchors and success.

A task is a seed of the environment's reset. The random numbers of steps come from the episode's seed, if the
environment draws them from `np_random`, so that attempts at a task start equally and differ afterwards.

The anchor is the true state if it is known: the state of tabular environments (`unwrapped.s` with the table
`unwrapped.P`), or the value of `anchor`. Otherwise it is the history of actions and texts, which never merges two
states.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import load_env_creator

from cairn.core.errors import ConfigError
from cairn.core.keys import bytes_key, canonical_bytes
from cairn.envs.base import EnvMeta, Outcome, TextEnv

Env = Any  # a gymnasium.Env with its own attributes
_TURN_LIMIT = 100  # for environments without a limit
_DIGITS = 4  # of numbers in texts
_MOST_NUMBERS = 64  # of a Box that is shown as text
_MOST_LISTED = 50  # maximum number of listed actions
_HIGHLIGHTED = re.compile(r"\x1b\[[\d;]*[1-9]\d*m(.+?)\x1b\[0?m", re.DOTALL)
_CODES = re.compile(r"\x1b\[[\d;]*m")


class WrappedEnv(TextEnv):
    """A Gymnasium environment as a text environment; `wrap` creates subclasses."""

    wrapping: ClassVar[Wrapping]

    def setup(self) -> None:
        """Create the environment."""
        self._env = self.wrapping.new_env()
        self._text = self.wrapping.text(self._env)
        self._actions = self.wrapping.actions(self._env)
        self._history, self._return, self._is_won = b"", 0.0, False
        self._planned: list[int] | None = None  # of a tabular environment: the best action of each state

    def tasks(self) -> list[str]:
        """Return the seeds, as texts."""
        return [str(seed) for seed in self.wrapping.tasks]

    def start(self, task_id: str, rng: random.Random) -> str:
        """Reset with the task's seed; later random numbers come from the episode's seed."""
        observation, _ = self._env.reset(seed=int(task_id))
        self._env.unwrapped.np_random = np.random.default_rng(rng.getrandbits(64))
        self._history, self._return, self._is_won = b"", 0.0, False
        shown = self._text(observation)
        parts = (self.wrapping.instruction, self._actions.legend, shown)
        return "\n\n".join(part for part in parts if part)

    def act(self, action: str) -> Outcome:
        """Execute an action; an unknown one has no effect and returns the list of actions."""
        try:
            chosen = self._actions.read(action)
        except ValueError as error:
            return self._outcome(f"{error} {self._actions.legend}", 0.0)
        observation, reward, terminated, truncated, _ = self._env.step(chosen)
        self._return += float(reward)
        text = self._text(observation)
        self._history = repr((bytes_key(self._history), action, text)).encode("utf-8", "surrogatepass")
        ended = bool(terminated or truncated)
        self._is_won = self.wrapping.is_won(self._env, self._return, ended=ended)
        return self._outcome(text, float(reward), ended=ended)

    def state(self) -> bytes:
        """Return the true state, or the history."""
        if self.wrapping.anchor is None:
            return self._history
        try:
            return canonical_bytes(self.wrapping.anchor(self._env))
        except TypeError as error:
            raise ConfigError(f"wrap: anchor: {error}") from error

    def admissible(self) -> tuple[str, ...] | None:
        """Return the names of the actions, sorted; None without names."""
        return tuple(sorted(self._actions.names)) or None

    def oracle_action(self, name: str) -> str:
        """Return the optimal action by the environment's own table."""
        if self._planned is None:
            self._planned = _plan(self._env)
        return self._actions.names[self._planned[_table_state(self._env)]]

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def _outcome(self, text: str, reward: float, *, ended: bool = False) -> Outcome:
        won = self._is_won
        return Outcome(text, reward=reward, terminated=ended, success=won, score=float(won))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapping:
    """The settings of a wrapped environment."""

    new_env: Callable[[], Env]
    text: Callable[[Env], Callable[[Any], str]]  # of an environment: observation -> text
    actions: Callable[[Env], Actions]
    anchor: Callable[[Env], Any] | None  # Any: see `core.keys.canonical_bytes`; None: the history
    success: Callable[[Env], bool] | float | None
    tasks: Sequence[int]
    instruction: str

    def is_won(self, env: Env, total: float, *, ended: bool) -> bool:
        """Return whether the episode is a success so far."""
        if callable(self.success):
            return bool(self.success(env))
        return ended and (total > 0 if self.success is None else total >= self.success)


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """The actions of an environment as words."""

    read: Callable[[str], Any]  # text -> action; raises ValueError with a sentence for the agent
    names: tuple[str, ...] = ()  # of all actions, in their order; () without names
    legend: str = ""  # the valid actions


def wrap(
    env: str | Env | Callable[[], Env],
    *,
    name: str | None = None,
    text: Callable[[Env, Any], str] | Literal["auto"] = "auto",
    actions: Sequence[str] | Mapping[str, Any] | Callable[[str], Any] | None = None,
    anchor: Callable[[Env], Hashable] | Literal["history"] | None = None,
    success: Callable[[Env], bool] | float | None = None,
    tasks: int | Sequence[int] = 1000,
    turn_limit: int | None = None,
    instruction: str = "",
    is_deterministic: bool = False,
) -> type[WrappedEnv]:
    """Return a class of environments that wraps a Gymnasium environment.

    It works with `cairn.make`, `cairn.register`, training and evaluation.

    Args:
        env: id in Gymnasium's registry, an environment, or a function that creates one. An environment object can be
            wrapped only once, because it cannot be copied.
        name: name of the class; it must equal the module's variable, so that other processes can import it as
            ``module:name``.
        text: (environment, observation) -> text. "auto": the rendering "ansi" if there is one, else by the space.
        actions: names of a Discrete space's actions; a mapping of texts to actions; or a function of the text that
            raises ValueError with a sentence for the agent. None: by the space.
        anchor: environment -> its true state, made of numbers, texts, arrays and containers of these. "history": the
            actions and texts so far. None: the state of a tabular environment, else the history.
        success: environment -> whether the task is solved; or the minimum return of a success at the end. None: the
            environment's own reward threshold, else a return above 0.
        tasks: number of tasks, or their seeds.
        turn_limit: maximum turns of an episode; None: the environment's own limit.
        instruction: the agent's task, as text above the first observation.
        is_deterministic: equal anchors and actions always give equal anchors and rewards. Ignored for tabular
            environments, whose table determines it.

    Raises:
        ConfigError: a space has no default text or words, names do not fit it, or the environment is unknown.
    """
    new_env, limit, threshold = _source(env)
    first = new_env()
    first.reset(seed=0)
    table = getattr(first.unwrapped, "P", None)
    is_tabular = isinstance(table, Mapping) and isinstance(getattr(first.unwrapped, "s", None), (int, np.integer))
    if is_tabular:
        is_deterministic = all(_is_sure(ways) for row in table.values() for ways in row.values())  # type: ignore[union-attr]
    chosen = anchor if callable(anchor) else _table_state if is_tabular and anchor is None else None
    wrapping = Wrapping(
        new_env=_once(first, new_env),
        text=lambda made: (lambda seen: text(made, seen)) if callable(text) else _text_of(made),
        actions=lambda made: _actions_of(made, actions),
        anchor=chosen,
        success=threshold if success is None else success,
        tasks=range(tasks) if isinstance(tasks, int) else tuple(tasks),
        instruction=instruction,
    )
    if not callable(text):
        _text_of(first)
    named = _actions_of(first, actions).names
    title = name or re.sub(r"\W", "_", (first.spec.id if first.spec else type(first.unwrapped).__name__)).strip("_")
    meta = EnvMeta(
        name=title,
        version=1,
        turn_limit=turn_limit or limit or _TURN_LIMIT,
        reward_range=(0, 1),
        summary=f"{first.spec.id if first.spec else type(first.unwrapped).__name__}, wrapped.",
        is_deterministic=is_deterministic,
        oracles=("planner",) if is_tabular and is_deterministic and named else (),
    )
    if meta.oracles and not _plans_to_win(first, wrapping, meta.turn_limit):
        meta = replace(meta, oracles=())
    module = sys._getframe(1).f_globals.get("__name__", __name__)
    return type(title, (WrappedEnv,), {"meta": meta, "wrapping": wrapping, "__module__": module, "__qualname__": title})


# -- sources -----------------------------------------------------------------------------------------------------------


def _source(env: str | Env | Callable[[], Env]) -> tuple[Callable[[], Env], int | None, float | None]:
    """Return a function that creates an environment, its turn limit and its reward threshold."""
    if isinstance(env, str):
        try:
            spec = gymnasium.spec(env)
        except gymnasium.error.Error as error:
            raise ConfigError(f"Gymnasium has no environment {env!r}: {error}") from error
        creator: Any = spec.entry_point  # Any: a path or a function
        kind = load_env_creator(creator) if isinstance(creator, str) else creator
        mode = "ansi" if "ansi" in getattr(kind, "metadata", {}).get("render_modes", ()) else None

        def made() -> Env:
            return gymnasium.make(env, max_episode_steps=-1, disable_env_checker=True, render_mode=mode)

        return made, spec.max_episode_steps, spec.reward_threshold
    if isinstance(env, gymnasium.Env):
        used: list[Env] = []

        def given() -> Env:
            if used:
                raise ConfigError("An environment itself can be wrapped once; wrap a function that makes one")
            used.append(env)
            return env

        return given, *_limits(env)
    if not callable(env):
        raise ConfigError(f"Expected an id, an environment, or a function that makes one, got {env!r:.100}")
    return env, *_limits(env())


def _limits(env: Env) -> tuple[int | None, float | None]:
    return (None, None) if env.spec is None else (env.spec.max_episode_steps, env.spec.reward_threshold)


def _once(first: Env, new_env: Callable[[], Env]) -> Callable[[], Env]:
    """Return a function that returns `first` once, and then creates new environments."""
    left = [first]

    def given() -> Env:
        try:
            return left.pop()
        except IndexError:
            return new_env()

    return given


# -- texts -------------------------------------------------------------------------------------------------------------


def _text_of(env: Env) -> Callable[[Any], str]:
    if env.render_mode == "ansi":
        return lambda _: _plain(str(env.render()))
    return _shown(env.observation_space)


def _plain(drawn: str) -> str:
    """Return a drawing without colour codes.

    Coloured parts, such as the agent's position, get brackets.
    """
    return _CODES.sub("", _HIGHLIGHTED.sub(r"[\1]", drawn)).strip("\n")


def _shown(space: gymnasium.Space[Any], name: str = "") -> Callable[[Any], str]:
    """Return a function from observations to texts, with one line per part."""
    label = f"{name}: " if name else ""
    if isinstance(space, spaces.Dict):
        parts = {key: _shown(each, f"{name}.{key}" if name else key) for key, each in space.items()}
        return lambda seen: "\n".join(show(seen[key]) for key, show in parts.items())
    if isinstance(space, spaces.Tuple):
        items = [_shown(each, f"{name}.{number}" if name else str(number)) for number, each in enumerate(space)]
        return lambda seen: "\n".join(show(item) for show, item in zip(items, seen, strict=True))
    if isinstance(space, spaces.Discrete):
        return lambda seen: f"{label}{int(seen)}"
    if isinstance(space, (spaces.MultiDiscrete, spaces.MultiBinary)):
        return lambda seen: f"{label}{' '.join(str(int(each)) for each in np.ravel(seen))}"
    if isinstance(space, spaces.Box) and int(np.prod(space.shape)) <= _MOST_NUMBERS:
        return lambda seen: f"{label}{' '.join(f'{float(each):.{_DIGITS}g}' for each in np.ravel(seen))}"
    if isinstance(space, spaces.Text) or getattr(space, "dtype", None) is str:
        return lambda seen: f"{label}{seen}"
    raise ConfigError(f"{type(space).__name__} has no text by default: give text=, (environment, observation) -> text")


# -- actions -----------------------------------------------------------------------------------------------------------


def _actions_of(env: Env, given: Sequence[str] | Mapping[str, Any] | Callable[[str], Any] | None) -> Actions:
    space = env.action_space
    if callable(given) and not isinstance(given, (Mapping, Sequence)):
        return Actions(read=given)
    if isinstance(given, Mapping):
        return _named({str(name): action for name, action in given.items()})
    if isinstance(space, spaces.Discrete):
        start = int(space.start)
        names = list(given) if given is not None else [str(start + number) for number in range(int(space.n))]
        if len(names) != int(space.n) or len(set(map(_fold, names))) != len(names):
            raise ConfigError(f"actions: expected {int(space.n)} different names, got {names!r:.200}")
        return _named({name: start + number for number, name in enumerate(names)}, start=start)
    if given is not None:
        raise ConfigError(f"actions: names are for a Discrete space, not for {type(space).__name__}; give a function")
    if isinstance(space, (spaces.MultiDiscrete, spaces.MultiBinary)) or (
        isinstance(space, spaces.Box) and int(np.prod(space.shape)) <= _MOST_NUMBERS
    ):
        return _numbers(space)
    if isinstance(space, spaces.Text):
        return Actions(read=lambda text: _member(space, text, text))
    raise ConfigError(f"{type(space).__name__} has no words by default: give actions=, a function of the text")


def _named(actions: Mapping[str, Any], start: int | None = None) -> Actions:
    known = {_fold(name): action for name, action in actions.items()}
    if start is not None:
        known = {**{str(start + number): start + number for number in range(len(actions))}, **known}
    listed = ", ".join(list(actions)[:_MOST_LISTED])

    def read(text: str) -> Any:
        if (word := _fold(text)) not in known:
            raise ValueError(f"There is no action {text[:80]!r}.")
        return known[word]

    return Actions(read=read, names=tuple(actions), legend=f"Actions: {listed}.")


def _numbers(space: Any) -> Actions:  # Any: a space of numbers
    count = int(np.prod(space.shape))
    kind = float if isinstance(space, spaces.Box) else int

    def read(text: str) -> Any:
        try:
            values = [kind(word) for word in text.replace(",", " ").split()]
        except ValueError:
            raise ValueError(f"{text[:80]!r} is not {count} numbers.") from None
        if len(values) != count:
            raise ValueError(f"{text[:80]!r} is not {count} numbers.")
        return _member(space, np.array(values, space.dtype).reshape(space.shape), text)

    bounds = f" within {space.low.min():g} and {space.high.max():g}" if isinstance(space, spaces.Box) else ""
    sizes = f" below {' '.join(map(str, np.ravel(space.nvec)))}" if isinstance(space, spaces.MultiDiscrete) else ""
    return Actions(read=read, legend=f"An action is {count} numbers{bounds}{sizes}, separated by blanks.")


def _member(space: gymnasium.Space[Any], action: Any, text: str) -> Any:
    if not space.contains(action):
        raise ValueError(f"{text[:80]!r} is not a possible action.")
    return action


def _fold(name: str) -> str:
    return " ".join(name.lower().split())


# -- tabular environments ----------------------------------------------------------------------------------------------


def _table_state(env: Env) -> int:
    return int(env.unwrapped.s)


def _is_sure(ways: Sequence[tuple[float, int, float, bool]]) -> bool:
    return len({way[1:] for way in ways if way[0] > 0}) <= 1


def _plans_to_win(env: Env, wrapping: Wrapping, turn_limit: int) -> bool:
    """Return whether the optimal plan of the table succeeds, as rewards may not match success."""
    plan, total, ended = _plan(env), 0.0, False
    env.reset(seed=int(wrapping.tasks[0]))
    for _ in range(turn_limit):
        _, reward, terminated, truncated, _ = env.step(plan[_table_state(env)])
        total, ended = total + float(reward), bool(terminated or truncated)
        if ended:
            break
    return wrapping.is_won(env, total, ended=ended)


def _plan(env: Env) -> list[int]:
    """Return the best action of each state by value iteration over the environment's table."""
    table: Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]] = env.unwrapped.P
    values = np.zeros(len(table))
    q_values = np.zeros((len(table), len(table[0])))
    for _ in range(10 * len(table)):
        for state, row in table.items():
            for action, ways in row.items():
                q_values[state, action] = sum(p * (r + 0.99 * (not done) * values[after]) for p, after, r, done in ways)
        if np.abs(q_values.max(axis=1) - values).max() < 1e-9:
            break
        values = q_values.max(axis=1)
    return [int(best) for best in q_values.argmax(axis=1)]
