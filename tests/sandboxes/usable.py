"""The kinds of sandbox that tests run on: those that work on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cairn.sandboxes.base import Sandbox
from cairn.sandboxes.registry import new_sandbox

SETTINGS: Mapping[str, Mapping[str, Any]] = {  # Any: settings
    "bubblewrap": {},
    "landlock": {},
    "process": {"trusted": True},
}


def usable(name: str) -> Sandbox:
    """Return a kind of sandbox; the test is skipped, with the reason, where it does not work."""
    sandbox = new_sandbox(name, **SETTINGS[name])
    problem = sandbox.problem()
    if problem is not None:
        pytest.skip(f"{name}: {problem}")
    return sandbox
