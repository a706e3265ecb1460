"""Runs parts of a test as an ordinary user: in a fork, with the modules that are loaded already."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cairn.sandboxes.kinds import bubblewrap
from cairn.sandboxes.local import folder_place, place

_USER = 60_999


def as_ordinary_user(work: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> Any:  # Any: JSON
    """Return what `work` returns in a fork that has given up root; the test fails with its traceback if it raises.

    Sandboxes read their supervisor from a copy, because the user may not be able to read the repository.
    """
    with tempfile.TemporaryDirectory(prefix="cairn-inside-") as name, monkeypatch.context() as patched:
        Path(name).chmod(0o755)
        inside = Path(shutil.copytree(place.INSIDE, Path(name, "inside")))
        for module in (place, folder_place, bubblewrap):
            patched.setattr(module, "INSIDE", inside)
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            _work(work, writer)
        os.close(writer)
        with os.fdopen(reader) as answer:
            said = json.loads(answer.read() or '{"error": "the fork died"}')
        os.waitpid(pid, 0)
    assert "error" not in said, said["error"]
    return said["value"]


def _work(work: Callable[[], Any], writer: int) -> None:  # Any: JSON
    try:
        os.chdir("/")
        if os.geteuid() == 0:
            os.setgroups([])
            os.setresgid(_USER, _USER, _USER)
            os.setresuid(_USER, _USER, _USER)
        said = {"value": work()}
    except BaseException:  # noqa: BLE001  (the fork must not continue as a second test run)
        said = {"error": traceback.format_exc()}
    with os.fdopen(writer, "w") as answer:
        answer.write(json.dumps(said))
    os._exit(0)
