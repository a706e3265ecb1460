"""Checks the arguments of evaluations that are started from Python.

The command line checks its own options.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

from cairn.core.errors import ConfigError

MOST_ATTEMPTS = 10_000  # at a task


def whole_number(name: str, value: object, least: float = -math.inf, most: float = math.inf) -> int:
    """Return an argument as an integer; NumPy integers are accepted.

    Raises:
        ConfigError: it is not an integer, or lies outside `least` and `most`.
    """
    bounds = [f"{word} {bound}" for word, bound in (("at least", least), ("at most", most)) if math.isfinite(bound)]
    expected = f"a whole number{' of ' if bounds else ''}{' and '.join(bounds)}"
    try:
        found = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]  # checked here
    except TypeError:
        found = None
    if found is None or not least <= found <= most:
        raise ConfigError(f"{name}: expected {expected}, got {value!r:.100}")
    return found


def sampling_temperature(value: object) -> float:
    """Return a temperature as a float.

    Raises:
        ConfigError: it is not a finite number of at least 0.
    """
    try:
        found = math.nan if isinstance(value, (bool, str)) else float(value)  # type: ignore[arg-type]  # as above
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not 0 <= found < math.inf:
        raise ConfigError(f"temperature: expected a finite number of at least 0, got {value!r:.100}")
    return found


def chosen_tasks(known: Sequence[str], tasks: object) -> list[str]:
    """Return task ids: the given ones, or the given number from the start of `known`.

    Raises:
        ConfigError: the number is below 1, `tasks` is neither a number nor a list of texts, or it names a task twice.
    """
    if isinstance(tasks, str):
        raise ConfigError(f"tasks: expected a number or a list of task ids, got a text; write tasks=[{tasks!r:.100}]")
    if not hasattr(tasks, "__iter__"):
        return list(known[: whole_number("tasks", tasks, least=1)])
    names = list(tasks)
    if not names:
        raise ConfigError("tasks: expected at least one task id, got an empty list")
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise ConfigError(f"tasks: expected task ids, which are texts, got {wrong[0]!r:.100}")
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ConfigError(f"tasks: {twice[0]!r:.100} is listed twice; for several attempts at each task: attempts=2")
    return names
