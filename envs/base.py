"""The environment contract: a `gymnasium.Env` over text, with tasks, anchors, oracles and declared limits.

A subclass says how a task starts, what an action does and what the true state is; this module owns turn limits, seeds,
anchors, endings and the info dictionary. It knows no algorithm, no history format and no tokens.

`step` returns Gymnasium's five values; `info` carries

==================  ==================================================================================================
task_id             the task at hand
anchor              64-bit key of the true state, scoped to the task (not of the turn count); -2**63 <= anchor < 2**63
admissible_actions  tuple of every action that would do something, or None where the environment does not say
success             whether the task is solved
score               in ``meta.reward_range``
channels            mapping of names to numbers: the parts of the step's reward that ``meta.parts`` lists, and other
                    measurements that ``meta.channels`` lists, such as tests passed; often empty
image               a PNG of what there is to see, where there are pictures
acted               box of what the action acted on, in the picture before it: x, y, width, height; with pictures only
tools               tuple of JSON schemas of functions; empty where actions are free text. An action may then be a call,
                    ``{"name": ..., "arguments": {...}}``, as text
max_calls           calls that an action may make: above 1, it may be a JSON list of calls, carried out in order
                    within one step; each result is one of `results`, and the observation has them all
takes_text          whether with tools an action may also be a text without a call, such as a final answer
results             tuple of texts: what each call of a list came to; empty after any other action
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

_MOST_COMPARED = 20_000  # task ids among which the nearest to an unknown one is looked for


class EnvConfig(Config):
    """What every environment can be told; environments add their own fields."""

    turn_limit: int | None = Field(None, ge=1, description="Turns before truncation; None: the environment's own.")
    perturb: dict[str, dict[str, Any]] = Field(  # Any: each perturbation's Config checks its own
        {},
        description="Perturbations that `cairn.make` puts around it, with their settings: a table by name, or names.",
    )

    @field_validator("perturb", mode="before")
    @classmethod
    def _by_name(cls, given: Any) -> Any:  # Any: whatever was configured
        names = [given] if isinstance(given, str) else given
        return {name: {} for name in names} if isinstance(names, list) else given

    @field_validator("perturb")
    @classmethod
    def _known(cls, given: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:  # Any: see the field
        for name, settings in given.items():
            build(PERTURBATIONS.load(name)[1], settings, f"perturb.{name}")
        return dict(sorted(given.items()))  # their order has no meaning


@dataclass(frozen=True, kw_only=True)
class EnvMeta:
    """What an environment declares about itself."""

    name: str  # registered id; equals the folder's name
    version: int  # changes whenever an observation, a rule or a reward changes
    turn_limit: int  # default budget
    reward_range: tuple[float, float]  # of one episode's score
    summary: str  # one line for listings
    is_deterministic: bool  # equal anchors and actions give equal anchors, texts and rewards; property `anchors`
    oracles: tuple[str, ...] = ()  # names, the default first; every one succeeds through the public actions
    oracle_success: float = 1.0  # share of tasks on which the weakest oracle is promised to reach the best score
    can_snapshot: bool = False
    can_reword: bool = False  # has paraphrases of its instructions; see `envs.rephrasable`
    is_blocking: bool = (
        False  # calls wait for other processes, such as a sandbox or a browser: several may go on at once
    )
    has_terminal_reward: bool = False  # no turn but an episode's last earns a reward; some credit methods need this
    parts: tuple[str, ...] = ()  # channels that are parts of the reward: every turn has all; they add up to its reward
    channels: tuple[
        str, ...
    ] = ()  # names, or fnmatch patterns such as "test/*", of other channels that steps may carry
    max_calls: int = 1  # see the module's docstring
    takes_text: bool = False  # likewise
    call_timeout_s: float = 30.0  # longest that a call may take, after which a pool takes the environment for hung
    max_action_chars: int = 4096  # longer actions reach `act` cut to one more than this, so that they can be told apart


@dataclass(slots=True)
class Outcome:
    """What an action did."""

    text: str
    reward: float = 0.0
    terminated: bool = False  # the task has ended; budgets are not the environment's business
    success: bool = False
    score: float = 0.0
    channels: Mapping[str, float] = field(default_factory=dict)  # see the module's docstring
    results: tuple[str, ...] = ()  # likewise; made by `step`


class TextEnv(gymnasium.Env[str, str]):
    """Base of every environment. Subclasses set `meta` and implement `tasks`, `start`, `act` and `state`."""

    meta: EnvMeta  # the class's own; an instance's is what `declare` returns for its settings
    Config: ClassVar[type[EnvConfig]] = EnvConfig
    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  (Gymnasium's own form)

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

    # -- what a subclass says ---------------------------------------------------------------------------------------

    @classmethod
    def declare(cls, config: Any) -> EnvMeta:  # Any: a `cls.Config`, whichever that is
        """Return the declarations of an environment with these settings; override where they depend on settings."""
        return cls.meta

    def setup(self) -> None:
        """Load what all tasks share; called once, at the end of construction."""

    def tasks(self) -> Sequence[str]:
        """Return every task id of the configured split, in a fixed order."""
        raise NotImplementedError

    def has_task(self, task_id: str) -> bool:
        """Return whether `reset` accepts this id; may be wider than `tasks()`."""
        return task_id in self.tasks()

    def task_type(self, task_id: str) -> str:
        """Return the task's kind, for tables of results; one kind unless the environment tells more apart."""
        return self.meta.name

    def difficulty(self, task_id: str) -> str:
        """Return how hard a task is, in a word or a number that sorts; empty where tasks are not graded."""
        return ""

    def best_score(self, task_id: str) -> float:
        """Return the best score that any play of the task reaches; less than the highest where it cannot be solved."""
        return self.meta.reward_range[1]

    def start(self, task_id: str, rng: random.Random) -> str:
        """Put the world into the task's first state and return the first text; all chance comes from `rng`."""
        raise NotImplementedError

    def act(self, action: str) -> Outcome:
        """Carry out one action. A senseless one is an outcome with a text, never an exception."""
        raise NotImplementedError

    def state(self) -> bytes:
        """Return the true state in a canonical form: equal bytes mean equal futures under equal actions."""
        raise NotImplementedError

    def admissible(self) -> tuple[str, ...] | None:
        """Return every action that would do something, sorted; None where that is not known."""
        return None

    def tools(self) -> tuple[Schema, ...]:
        """Return the functions that an action may call, as model servers take them; none where actions are text."""
        return ()

    def oracle_action(self, name: str) -> str:
        """Return what the named oracle does next, from any state."""
        raise NotImplementedError

    def save_state(self) -> Any:  # Any: the environment's own immutable form
        """Return the world's state for `load_state`; it must not change when the world does."""
        raise NotImplementedError

    def load_state(self, saved: Any) -> None:  # Any: see save_state
        """Put the world back into a saved state of the current task."""
        raise NotImplementedError

    # -- what everybody else calls -----------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode. ``options={"task": task_id}`` picks the task; without it the seed does.

        Raises:
            UnknownNameError: there is no such task.
            CairnError: an option that no environment knows.
        """
        super().reset(seed=seed)
        task_id = self._pick_task(dict(options or {}))
        start_seed = seed if seed is not None else int(self.np_random.integers(2**31))
        self.task_id = task_id
        self.turn = 0
        self._needs_reset = True  # until the task has started: an exception in `start` leaves a world half made
        self._scope = text_key(f"{self.meta.name}/{self.meta.version}/{task_id}")
        self._last = Outcome(self.start(task_id, python_generator(self.meta.name, task_id, start_seed)))
        self._needs_reset = False
        return self._last.text, self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Carry out one action; see the module's docstring for `info`.

        Raises:
            gymnasium.error.ResetNeeded: the episode is over, or has not begun.
            TypeError: the action is not text.
        """
        if self._needs_reset:
            raise gymnasium.error.ResetNeeded(f"{self.meta.name}: call reset() before step()")
        if not isinstance(action, str):
            raise TypeError(f"{self.meta.name}: an action is text, got {type(action).__name__}")
        self._needs_reset = True  # an exception in `act`, such as KeyboardInterrupt, leaves the action half done
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
        """Return whether any play of the task succeeds."""
        return self.best_score(task_id) >= self.meta.reward_range[1]

    def oracle(self, name: str | None = None) -> str:
        """Return the named oracle's next action (the default one's without a name).

        Raises:
            UnknownNameError: this environment has no such oracle.
        """
        chosen = name or next(iter(self.meta.oracles), "")
        if chosen not in self.meta.oracles:
            raise UnknownNameError(
                f"oracle of {self.meta.name}", chosen, self.meta.oracles, f"cairn envs list {self.meta.name}"
            )
        return self.oracle_action(chosen)

    def snapshot(self) -> tuple[Any, ...]:  # Any: the environment's own form
        """Return everything that `restore` needs to go on from here."""
        if not self.meta.can_snapshot:
            raise CairnError(f"{self.meta.name} cannot snapshot; replay its actions instead")
        return (self.task_id, self.turn, self._needs_reset, self._scope, self._last, self.save_state())

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Go back to a snapshot of this or of another instance with the same configuration."""
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
            "tools": deepcopy(self.tools()),  # each caller's own: an environment may keep one tuple for all
            "max_calls": self.meta.max_calls,
            "takes_text": self.meta.takes_text,
            "results": self._last.results,
        }

    def _carry_out(self, calls: Sequence[str]) -> Outcome:
        """Carry out calls one after another, until one ends the task: rewards and parts of the reward add up."""
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
    """Return the calls that a JSON list of calls makes, each as an action; None: the action is not such a list."""
    if not action.lstrip().startswith("["):
        return None
    try:
        found = json.loads(action)
        if not isinstance(found, list) or not all(isinstance(call, dict) and "name" in call for call in found):
            return None
        return [json.dumps(call, ensure_ascii=False) for call in found] or None
    except (ValueError, RecursionError):  # of hostile text
        return None
