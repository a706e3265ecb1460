"""The environment contract: a text `gymnasium.Env` with tasks, anchors, oracles and limits.

A subclass defines the start of a task, the effect of an action and the true state; this module handles turn limits,
seeds, anchors, endings and the info dictionary. It is independent of algorithms, history formats and tokens.

`step` returns Gymnasium's five values; `info` contains

==================  ==================================================================================================
task_id             the current task
anchor              64-bit key of the true state, scoped to the task (not of the turn count); -2**63 <= anchor < 2**63
admissible_actions  tuple of all actions with an effect, or None if the environment does not list them
success             whether the task is solved
score               in ``meta.reward_range``
channels            mapping of names to numbers: the parts of the step's reward that ``meta.parts`` lists, and other
                    measurements that ``meta.channels`` lists, such as tests passed; often empty
image               a PNG of the current view, in environments with pictures
acted               box of the action's target in the picture before it: x, y, width, height; with pictures only
tools               tuple of JSON schemas of functions; empty where actions are free text. An action may then be a call,
                    ``{"name": ..., "arguments": {...}}``, as text
max_calls           calls that an action may make: above 1, it may be a JSON list of calls, executed in order within one
                    step; each result is one of `results`, and the observation has them all
takes_text          whether an action may also be a text without a call, despite tools, such as a final answer
results             tuple of texts: the result of each call of a list; empty after any other action
==================  ==================================================================================================
"""

from __future__ import annotations

import json
import random
from collections import ChainMap
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import gymnasium
from pydantic import Field, field_validator

from cairn.core.config import Config, build
from cairn.core.errors import CairnError, UnknownNameError
from cairn.core.keys import bytes_key, signed, text_key
from cairn.core.plugins import PERTURBATIONS
from cairn.core.records import Schema
from cairn.core.seeding import python_generator
from cairn.envs.text_space import TextSpace

_MOST_COMPARED = 20_000  # maximum number of task ids to search for a suggestion


class EnvConfig(Config):
    """Settings of every environment; environments add their own fields."""

    turn_limit: int | None = Field(None, ge=1, description="Turns before truncation; None: the environment's own.")
    perturb: dict[str, dict[str, Any]] = Field(  # Any: each perturbation's Config validates its own
        {},
        description="Perturbations that `cairn.make` puts around it, with their settings: a table by name, or names.",
    )

    @field_validator("perturb", mode="before")
    @classmethod
    def _by_name(cls, given: Any) -> Any:  # Any: the raw setting
        names = [given] if isinstance(given, str) else given
        return {name: {} for name in names} if isinstance(names, list) else given

    @field_validator("perturb")
    @classmethod
    def _known(cls, given: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:  # Any: see the field
        for name, settings in given.items():
            PERTURBATIONS.config(name, settings, f"perturb.{name}")
        return dict(sorted(given.items()))  # their order has no meaning


@dataclass(frozen=True, kw_only=True)
class EnvMeta:
    """The declarations of an environment."""

    name: str  # registered id; equals the folder's name
    version: int  # changes whenever an observation, a rule or a reward changes
    turn_limit: int  # default budget
    reward_range: tuple[float, float]  # of one episode's score
    summary: str  # one line for listings
    is_deterministic: bool  # equal anchors and actions give equal anchors, texts and rewards; property `anchors`
    oracles: tuple[str, ...] = ()  # names, the default first; each succeeds through the public actions
    oracle_success: float = 1.0  # minimum share of tasks on which each oracle reaches the best score
    can_snapshot: bool = False
    can_reword: bool = False  # has paraphrases of its instructions; see `envs.rephrasable`
    is_blocking: bool = (
        False  # calls wait for other processes, such as a sandbox or a browser, so that several may run at once
    )
    has_terminal_reward: bool = False  # only an episode's last turn earns a reward; some credit methods require this
    parts: tuple[str, ...] = ()  # channels that are parts of the reward: every turn has all; they add up to its reward
    channels: tuple[str, ...] = ()  # names, or fnmatch patterns such as "test/*", of other channels that steps may have
    max_calls: int = 1  # see the module's docstring
    takes_text: bool = False  # likewise
    call_timeout_s: float = 30.0  # time limit of a call, after which a pool treats the environment as hung
    max_action_chars: int = 4096  # longer actions are cut to one character more, so that `act` can detect them


@dataclass(slots=True)
class Outcome:
    """The result of an action."""

    text: str
    reward: float = 0.0
    terminated: bool = False  # the task has ended; the base class handles budgets
    success: bool = False
    score: float = 0.0
    channels: Mapping[str, float] = field(default_factory=dict)  # see the module's docstring
    results: tuple[str, ...] = ()  # likewise; set by `step`


class TextEnv(gymnasium.Env[str, str]):
    """Base class of every environment.

    Subclasses set `meta` and implement `tasks`, `start`, `act` and `state`.
    """

    meta: EnvMeta  # the class's default; an instance has the result of `declare` for its settings
    Config: ClassVar[type[EnvConfig]] = EnvConfig
    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  (Gymnasium's format)

    def __init__(self, *, render_mode: str | None = None, **config: Any) -> None:
        self.config = build(self.Config, config, f"environment {self.meta.name!r}")
        self.meta = type(self).declare(self.config)
        self.render_mode = render_mode
        self.turn_limit = self.config.turn_limit or self.meta.turn_limit
        self.action_space = TextSpace(1 << 20)
        self.observation_space = TextSpace(1 << 20)
        self.task_id = ""
        self.turn = 0
        self._needs_reset = True
        self._scope = 0
        self._last = Outcome("")
        self.setup()

    # -- methods of a subclass -------------------------------------------------------------------------------------

    @classmethod
    def declare(cls, config: Any) -> EnvMeta:  # Any: an instance of `cls.Config`
        """Return the declarations for these settings.

        Override it if they depend on settings.
        """
        return cls.meta

    def setup(self) -> None:
        """Load data shared by all tasks; called once, at the end of construction."""

    def tasks(self) -> Sequence[str]:
        """Return every task id of the configured split, in a fixed order."""
        raise NotImplementedError

    def has_task(self, task_id: str) -> bool:
        """Return whether `reset` accepts this id; may be wider than `tasks()`."""
        return task_id in self.tasks()

    def task_type(self, task_id: str) -> str:
        """Return the task's type, for tables of results.

        By default, all tasks of an environment have one type.
        """
        return self.meta.name

    def difficulty(self, task_id: str) -> str:
        """Return the task's difficulty, a word or a sortable number; empty if not graded."""
        return ""

    def best_score(self, task_id: str) -> float:
        """Return the best score that any play of the task can reach.

        It is below the maximum for an unsolvable task.
        """
        return self.meta.reward_range[1]

    def start(self, task_id: str, rng: random.Random) -> str:
        """Reset the world to the task's initial state and return the first observation.

        All random numbers come from `rng`.
        """
        raise NotImplementedError

    def act(self, action: str) -> Outcome:
        """Execute one action. An invalid one returns an outcome with a text and never raises."""
        raise NotImplementedError

    def state(self) -> bytes:
        """Return the true state in canonical form.

        Equal bytes mean equal futures under equal actions.
        """
        raise NotImplementedError

    def admissible(self) -> tuple[str, ...] | None:
        """Return all actions with an effect, sorted; None if they are not known."""
        return None

    def tools(self) -> tuple[Schema, ...]:
        """Return the tool schemas in the format of model servers; empty if actions are free text."""
        return ()

    def oracle_action(self, name: str) -> str:
        """Return the named oracle's next action, from any state."""
        raise NotImplementedError

    def save_state(self) -> Any:  # Any: an immutable value in the environment's own format
        """Return the world's state for `load_state`; it must not change with the world."""
        raise NotImplementedError

    def load_state(self, saved: Any) -> None:  # Any: see save_state
        """Restore a saved state of the current task."""
        raise NotImplementedError

    # -- public interface ------------------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode. ``options={"task": task_id}`` selects the task; otherwise the seed does.

        Raises:
            UnknownNameError: the task is unknown.
            CairnError: an option is unknown.
        """
        super().reset(seed=seed)
        task_id = self._pick_task(dict(options or {}))
        start_seed = seed if seed is not None else int(self.np_random.integers(2**31))
        self.task_id = task_id
        self.turn = 0
        self._needs_reset = True  # until the task has started: an exception in `start` leaves an incomplete world
        self._scope = text_key(f"{self.meta.name}/{self.meta.version}/{task_id}")
        self._last = Outcome(self.start(task_id, python_generator(self.meta.name, task_id, start_seed)))
        self._needs_reset = False
        return self._last.text, self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Execute one action; see the module's docstring for `info`.

        Raises:
            gymnasium.error.ResetNeeded: the episode is over, or has not started.
            TypeError: the action is not text.
        """
        if self._needs_reset:
            raise gymnasium.error.ResetNeeded(f"{self.meta.name}: call reset() before step()")
        if not isinstance(action, str):
            raise TypeError(f"{self.meta.name}: an action is text, got {type(action).__name__}")
        self._needs_reset = True  # an exception in `act`, such as KeyboardInterrupt, leaves the action incomplete
        action = action[: self.meta.max_action_chars + 1]
        calls = calls_of(action) if self.meta.max_calls > 1 else None
        outcome = self._last = self.act(action) if calls is None else self._carry_out(calls)
        self.turn += 1
        truncated = not outcome.terminated and self.turn >= self.turn_limit
        self._needs_reset = outcome.terminated or truncated
        return outcome.text, outcome.reward, outcome.terminated, truncated, self._info()

    def anchor(self) -> int:
        """Return the 64-bit key of the current state, scoped to the task, as a signed integer."""
        return signed(bytes_key(self.state(), self._scope))

    def can_solve(self, task_id: str) -> bool:
        """Return whether the task can be solved."""
        return self.best_score(task_id) >= self.meta.reward_range[1]

    def oracle(self, name: str | None = None) -> str:
        """Return the named oracle's next action (by default, the first one's).

        Raises:
            UnknownNameError: the oracle is unknown.
        """
        chosen = name or next(iter(self.meta.oracles), "")
        if chosen not in self.meta.oracles:
            raise UnknownNameError(
                f"oracle of {self.meta.name}", chosen, self.meta.oracles, f"cairn envs list {self.meta.name}"
            )
        return self.oracle_action(chosen)

    def snapshot(self) -> tuple[Any, ...]:  # Any: the environment's own format
        """Return a snapshot of the episode for `restore`."""
        if not self.meta.can_snapshot:
            raise CairnError(f"{self.meta.name} cannot snapshot; replay its actions instead")
        return (self.task_id, self.turn, self._needs_reset, self._scope, self._last, self.save_state())

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Restore a snapshot of this or another instance with the same configuration."""
        task_id, self.turn, self._needs_reset, self._scope, self._last, saved = snapshot
        if task_id != self.task_id:
            self.start(task_id, random.Random(0))
            self.task_id = task_id
        self.load_state(saved)

    def render(self) -> str | None:
        """Return the last text in mode "ansi"."""
        return self._last.text if self.render_mode == "ansi" else None

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _info(self) -> dict[str, Any]:
        return {
            "task_id": self.task_id,
            "anchor": self.anchor(),
            "admissible_actions": self.admissible(),
            "success": self._last.success,
            "score": self._last.score,
            "channels": dict(self._last.channels),
            "tools": deepcopy(self.tools()),  # a copy for each caller: an environment may share one tuple
            "max_calls": self.meta.max_calls,
            "takes_text": self.meta.takes_text,
            "results": self._last.results,
        }

    def _carry_out(self, calls: Sequence[str]) -> Outcome:
        """Execute calls in order until one ends the task.

        Rewards, and channels that are parts of the reward, add up.
        """
        outcomes: list[Outcome] = []
        for call in calls[: self.meta.max_calls]:
            outcomes.append(self.act(call))
            if outcomes[-1].terminated:
                break
        results = [outcome.text for outcome in outcomes]
        rest = "the task has ended" if outcomes[-1].terminated else f"a turn has at most {self.meta.max_calls} calls"
        results += [f"Not carried out: {rest}."] * (len(calls) - len(results))
        channels = dict(ChainMap(*(dict(outcome.channels) for outcome in reversed(outcomes))))
        for part in self.meta.parts:
            channels[part] = sum(outcome.channels.get(part, 0.0) for outcome in outcomes)
        return replace(
            outcomes[-1],
            text="\n".join(f"Result {number}: {text}" for number, text in enumerate(results, start=1)),
            reward=sum(outcome.reward for outcome in outcomes),
            channels=channels,
            results=tuple(results),
        )

    def _pick_task(self, options: dict[str, Any]) -> str:
        task_id = options.pop("task", None)
        if options:
            raise CairnError(f"{self.meta.name}.reset knows the option 'task', got {sorted(options)!r}")
        if task_id is None:
            names = self.tasks()
            if not names:
                raise CairnError(f"{self.meta.name} lists no tasks with these settings: take another split or source")
            return names[int(self.np_random.integers(len(names)))]
        if not isinstance(task_id, str) or not self.has_task(task_id):
            known = self.tasks() if len(self.tasks()) <= _MOST_COMPARED else ()
            raise UnknownNameError(
                f"task of {self.meta.name}", str(task_id), known, f"cairn envs list {self.meta.name} --tasks"
            )
        return task_id


def calls_of(action: str) -> list[str] | None:
    """Return the calls of a JSON list of calls, each as an action; None for any other action."""
    if not action.lstrip().startswith("["):
        return None
    try:
        found = json.loads(action)
        if not isinstance(found, list) or not all(isinstance(call, dict) and "name" in call for call in found):
            return None
        return [json.dumps(call, ensure_ascii=False) for call in found] or None
    except (ValueError, RecursionError):  # hostile text
        return None
