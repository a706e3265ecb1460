"""Kinds of coding tasks by discovery, and the ids of their tasks: ``kind/id``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from cairn.core.errors import UnknownNameError
from cairn.envs.code import kinds
from cairn.envs.code.problem import Problem, ProblemKind


def names() -> list[str]:
    """Return the kinds that there are."""
    return sorted(module.name for module in pkgutil.iter_modules(kinds.__path__))


def kind(name: str) -> ProblemKind:
    """Return a kind.

    Raises:
        UnknownNameError: there is none of this name.
    """
    if name not in names():
        raise UnknownNameError("kind of coding task", name, names(), "cairn envs list code")
    found: ProblemKind = importlib.import_module(f"cairn.envs.code.kinds.{name}").KIND
    return found


@cache
def problem(task_id: str) -> Problem:
    """Return a task by its whole id.

    Raises:
        KeyError: there is none.
        MissingDataError: its files are not there.
    """
    name, _, own = task_id.partition("/")
    return kind(name).load(own)
