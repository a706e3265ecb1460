"""Discovers the kinds of coding tasks and loads tasks by id: ``kind/id``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from cairn.core.errors import UnknownNameError
from cairn.envs.code import kinds
from cairn.envs.code.problem import Problem, ProblemKind


def names() -> list[str]:
    """Return the names of all kinds, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(kinds.__path__))


def kind(name: str) -> ProblemKind:
    """Return a kind.

    Raises:
        UnknownNameError: no kind has this name.
    """
    if name not in names():
        raise UnknownNameError("kind of coding task", name, names(), "cairn envs list code")
    found: ProblemKind = importlib.import_module(f"cairn.envs.code.kinds.{name}").KIND
    return found


@cache
def problem(task_id: str) -> Problem:
    """Return a task by its full id.

    Raises:
        KeyError: no task has this id.
        MissingDataError: the kind's files do not exist.
    """
    name, _, own = task_id.partition("/")
    return kind(name).load(own)
