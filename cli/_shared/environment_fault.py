"""Detects exceptions of an environment's code, which commands report in one line."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path


def environment_fault(error: BaseException) -> str | None:
    """Return a line with the environment, its method and the fault.

    None if no environment raised the exception.

    An exception is an environment's if it passed through a method of a `TextEnv`, regardless of the caller.
    """
    if "cairn.envs.base" not in sys.modules:
        return None
    from cairn.envs.base import TextEnv

    found: tuple[str, str] | None = None  # name and method of the innermost frame of the contract
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
