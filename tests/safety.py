"""Keeps the tests harmless: programs in sandbox kind `process` never run as root.

The kind isolates nothing, so a fault in the code under test, or a hostile program, could damage the machine. Where root
runs the tests, each session of the kind runs as a session user. Its processes are limited by a control group or by
RLIMIT_NPROC. RLIMIT_AS limits the memory of each program in kinds `process` and `landlock`.

A test with the marker `as_root` starts sessions of the kind as users do; it must run harmless programs only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cairn.core.errors import CairnError
from cairn.sandboxes.base import Limits
from cairn.sandboxes.kinds.bubblewrap import interpreter
from cairn.sandboxes.kinds.process import Process
from cairn.sandboxes.local import folder_place
from cairn.sandboxes.local.folder_place import FolderPlace
from cairn.sandboxes.local.place import LocalPlace
from cairn.sandboxes.local.users import user_for_start

UNPROTECTED_LAUNCH = Process.launch
_OTHERS_MAY_ENTER = 0o001
# Beyond a session's memory limit: tests see that limit reached first, and threads have room for stacks and arenas.
_MORE_BYTES = 2 << 30


@pytest.fixture(scope="session", autouse=True)
def _programs_without_root() -> Iterator[None]:
    """Replace the launch of kind `process` before any other fixture starts a session."""
    with pytest.MonkeyPatch.context() as patch:
        protect(patch.setattr)
        yield


@pytest.fixture(autouse=True)
def _as_root_where_marked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Undo the replacement for one test."""
    with pytest.MonkeyPatch.context() as patch:
        if request.node.get_closest_marker("as_root") is not None:
            patch.setattr(Process, "launch", UNPROTECTED_LAUNCH)
        yield


def protect(set_attribute: Callable[..., None] = setattr) -> None:
    """Limit the memory of programs, and start sessions of kind `process` without root's rights."""
    set_attribute(folder_place, "LocalPlace", _LimitedPlace)
    if os.geteuid() == 0:
        set_attribute(Process, "launch", _launch_without_root)


def without_pytest() -> dict[str, str]:
    """Return the environment for a nested test run, without the options and the state of this run."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


class _LimitedPlace(LocalPlace):
    """A place whose programs have RLIMIT_AS."""

    def __init__(self, command: list[str], *, limits: Limits, hello: Mapping[str, Any], **more: Any) -> None:
        """Start it; `Any`: see `LocalPlace`."""
        ceiling = {"address_space": limits.memory_bytes + _MORE_BYTES}
        super().__init__(command, limits=limits, hello={**hello, "limits": {**hello["limits"], **ceiling}}, **more)


def _launch_without_root(sandbox: Process, limits: Limits) -> FolderPlace:
    python = _interpreter_for_others(sandbox._config.python or sys.executable)
    with user_for_start() as user:
        assert user is not None
        return FolderPlace(python, limits, user, None, b"")


def _interpreter_for_others(python: str) -> str:
    """Return an interpreter that other users can start; skip the test if none is found."""
    found = Path(python).resolve()
    if all(folder.stat().st_mode & _OTHERS_MAY_ENTER for folder in found.parents):
        return python
    try:
        return interpreter(None)
    except CairnError as error:
        pytest.skip(f"process: other users cannot start {found}, and {error}")
