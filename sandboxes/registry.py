"""Sandboxes by name."""

from __future__ import annotations

from typing import Any

from cairn.core.config import build
from cairn.core.errors import CairnError
from cairn.core.plugins import SANDBOXES
from cairn.sandboxes.base import NoNetworkError, Sandbox

_PREFERRED = ("bubblewrap", "landlock")  # of those that isolate and need no server


def new_sandbox(name: str = "auto", **config: Any) -> Sandbox:  # Any: the kind's Config checks them
    """Return a kind of sandbox; "auto": the first that works here, by how much it promises.

    Raises:
        UnknownNameError: there is no such kind.
        ConfigError: a setting that it does not have.
        CairnError: none works here; with what each needs.
    """
    if name != "auto":
        kind: type[Sandbox] = SANDBOXES.load(name)
        return kind(build(kind.Config, config, f"sandbox {name!r}"))
    problems = []
    for candidate in _PREFERRED:
        try:
            sandbox = new_sandbox(candidate, **config)
        except NoNetworkError as error:  # another may
            problems.append(f"{candidate}: {error}")
            continue
        problem = sandbox.problem()
        if problem is None:
            return sandbox
        problems.append(f"{candidate}: {problem}")
    raise CairnError(f"No sandbox works on this machine. {'; '.join(problems)}; or use docker, or remote")
