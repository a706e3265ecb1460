"""Recognises an exception that code of an environment has raised, so that a command can name it in one line."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path


def environment_fault(error: BaseException) -> str | None:
    """Return the line that names the environment, its method and the fault; None: no environment raised it.

    An exception is an environment's if a method of a `TextEnv` was at work when it was raised, whoever had called it.
    """
    if "cairn.envs.base" not in sys.modules:
        return None
    from cairn.envs.base import TextEnv

    found: tuple[str, str] | None = None  # name and method: the innermost that belongs to the contract
    for frame, _ in traceback.walk_tb(error.__traceback__):
        owner = frame.f_locals.get("self", frame.f_locals.get("cls"))
        kind = owner if isinstance(owner, type) else type(owner)
        if issubclass(kind, TextEnv) and hasattr(TextEnv, frame.f_code.co_name):
            found = kind.meta.name, frame.f_code.co_name
    if found is None:
        return None
    name, method = found
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}, line {last.lineno}"
    return f"environment {name!r} raised {type(error).__name__}: {error} (in {method}(): {place})"
