"""Sandbox processes on this machine leave nothing behind, at any moment of their end."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.base import Limits
from cairn.sandboxes.local import place
from cairn.sandboxes.local.place import LocalPlace

# A launcher whose child asks nothing of its parent, as bubblewrap's until its namespaces are set up.
LAUNCHER = ["sh", "-c", "sleep 600 & echo $! > {file}; echo no room >&2; wait"]


def start(folder: Path) -> LocalPlace:
    command = [word.format(file=folder / "pid") for word in LAUNCHER]
    return LocalPlace(command, home="/", limits=Limits(), user=None, has_own_user=False, hello={})


def is_left(folder: Path) -> bool:
    """Return whether the launcher's child still runs after a while."""
    try:
        child = psutil.Process(int((folder / "pid").read_text()))
    except psutil.NoSuchProcess:
        return False
    _, left = psutil.wait_procs([child], timeout=2)
    return bool(left) and child.status() != psutil.STATUS_ZOMBIE


def after_launch(folder: Path, error: BaseException) -> None:
    until = time.monotonic() + 10
    while not (folder / "pid").exists() or not (folder / "pid").read_text():
        assert time.monotonic() < until
        time.sleep(0.01)
    raise error


@pytest.mark.parametrize("error", [SandboxFailure("it does not answer"), KeyboardInterrupt()], ids=["fails", "stops"])
def test_a_start_that_ends_early_leaves_no_child_of_the_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr(place, "_END_S", 0.2)
    monkeypatch.setattr(LocalPlace, "_greet", lambda *_: after_launch(tmp_path, error))
    with pytest.raises(type(error), match="no room" if isinstance(error, SandboxFailure) else None):
        start(tmp_path)
    assert not is_left(tmp_path)
