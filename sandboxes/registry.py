"""Sandboxes by name."""

from __future__ import annotations

from typing import Any

from cairn.core.errors import CairnError
from cairn.core.plugins import SANDBOXES
from cairn.sandboxes.base import NoNetworkError, Sandbox

_PREFERRED = ("bubblewrap", "landlock")  # kinds that isolate and need no server


def new_sandbox(name: str = "auto", **config: Any) -> Sandbox:  # Any: the kind's Config checks them
    """Return a kind of sandbox by name.

    "auto": the one with the strongest promises that works here.

    Raises:
        UnknownNameError: the kind does not exist.
        ConfigError: a setting is unknown or invalid.
        CairnError: no kind works here; the message has the requirements of each.
    """
    if name != "auto":
        sandbox: Sandbox = SANDBOXES.build(name, config)
        return sandbox
    problems = []
    for candidate in _PREFERRED:
        try:
            sandbox = new_sandbox(candidate, **config)
        except NoNetworkError as error:  # another kind may
            problems.append(f"{candidate}: {error}")
            continue
        problem = sandbox.problem()
        if problem is None:
            return sandbox
        problems.append(f"{candidate}: {problem}")
    raise CairnError(f"No sandbox works on this machine. {'; '.join(problems)}; or use docker, or remote")
