"""Checks an environment's methods: existence, parameters and types of results.

This check runs before all other properties; its messages have the file and the line.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cairn.envs.base import Outcome, TextEnv
from cairn.envs.perturbed import Perturbed
from cairn.envs.properties.subject import NONSENSE, Subject, require

_ALWAYS = ("tasks", "start", "act", "state")
_TAKES = {"tasks": 0, "start": 2, "act": 1, "state": 0, "admissible": 0, "tools": 0, "oracle_action": 1}
_TAKES |= {"save_state": 0, "load_state": 1, "has_task": 1, "task_type": 1, "difficulty": 1, "best_score": 1}

Kinds = type | tuple[type, ...]
_RETURNS: dict[str, tuple[Kinds, str]] = {
    "start": (str, "a text"),
    "act": (Outcome, "an Outcome"),
    "state": (bytes, "bytes"),
    "admissible": ((tuple, type(None)), "a tuple of texts, or None"),
    "tools": (tuple, "a tuple of JSON schemas"),
    "oracle_action": (str, "a text"),
}


def methods(subject: Subject) -> str:
    """The methods of the contract exist, take its arguments, and return its types."""
    env = subject.env.plain if isinstance(subject.env, Perturbed) else subject.env
    kind = type(env)
    needed = [*_ALWAYS, *(["oracle_action"] if env.meta.oracles else [])]
    needed += ["save_state", "load_state"] if env.meta.can_snapshot else []
    for name in needed:
        base = getattr(TextEnv, name)
        is_there = getattr(kind, name) is not base
        require(is_there, f"{kind.__name__} lacks {name}{_parameters(base)} ({_place(kind)})")
    for name, count in _TAKES.items():
        _check_parameters(kind, name, count)
    _check_results(env, subject.tasks(1)[0])
    return f"{len(_TAKES)} methods"


def _check_parameters(kind: type[TextEnv], name: str, count: int) -> None:
    method = getattr(kind, name)
    where = _place(method)
    require(not inspect.iscoroutinefunction(method), f"{name} is asynchronous; write `def {name}` ({where})")
    try:
        inspect.signature(method).bind(*[None] * (count + 1))
    except TypeError:
        expected = f"{name}{_parameters(getattr(TextEnv, name))}"
        require(False, f"{name}{inspect.signature(method)} cannot be called as {expected} ({where})")


def _check_results(env: TextEnv, task: str) -> None:
    """Play two actions, and check the types of all results."""
    tasks = env.tasks()
    is_list = (
        isinstance(tasks, Sequence) and not isinstance(tasks, str) and all(isinstance(name, str) for name in tasks)
    )
    require(is_list, f"tasks must return a sequence of texts, got {tasks!r:.100} ({_place(type(env).tasks)})")
    for name, (kinds, what) in _RETURNS.items():
        setattr(env, name, _checked(getattr(env, name), kinds, f"{name} must return {what}"))
    try:
        _, info = env.reset(seed=0, options={"task": task})
        for action in (*(info["admissible_actions"] or ())[:1], NONSENSE):
            for oracle in env.meta.oracles:
                env.oracle(oracle)
            _, _, is_terminated, is_truncated, _ = env.step(action)
            if is_terminated or is_truncated:
                break
    finally:
        for name in _RETURNS:
            delattr(env, name)


def _checked(method: Callable[..., Any], kinds: Kinds, rule: str) -> Callable[..., Any]:  # Any: checked here
    """Return a method that checks the type of its results."""

    def call(*given: Any) -> Any:  # Any: the method's arguments
        found = method(*given)
        text = found.text if isinstance(found, Outcome) else ""
        require(isinstance(found, kinds), f"{rule}, got {type(found).__name__} ({_place(method)})")
        require(isinstance(text, str), f"{rule} whose text is a text, got {type(text).__name__} ({_place(method)})")
        return found

    return call


def _parameters(method: Callable[..., Any]) -> str:  # Any: of any method
    return f"({', '.join(inspect.signature(method).parameters)})"


def _place(thing: Any) -> str:  # Any: a class or a function
    """Return the file and the line of a definition; or its module without a file."""
    try:
        file, line = inspect.getsourcefile(thing), inspect.getsourcelines(thing)[1]
    except (OSError, TypeError):
        return str(thing.__module__)
    return f"{Path(file).name if file else thing.__module__}:{line}"
