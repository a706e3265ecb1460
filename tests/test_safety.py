"""Tests as root do not run programs of sandbox kind `process` as root."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cairn.sandboxes.base import Limits
from cairn.sandboxes.kinds.process import Process
from tests import safety
from tests.sandboxes.usable import usable

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the protection is for root")
LIMITS = Limits(memory_bytes=64 << 20, processes=32)
RIGHTS = """
import json, os, resource
print(json.dumps({
    "users": [os.getuid(), os.geteuid()],
    "groups": [os.getgid(), *os.getgroups()],
    "writes_etc": os.access("/etc", os.W_OK),
    "memory": resource.getrlimit(resource.RLIMIT_AS)[1],
    "processes": resource.getrlimit(resource.RLIMIT_NPROC)[1],
}))
"""


def rights() -> dict[str, Any]:  # Any: JSON
    """Return the rights of a program in kind `process`."""
    with usable("process").session(LIMITS) as session:
        result = session.run_python(RIGHTS)
    assert result.is_ok, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_programs_have_no_rights_of_root() -> None:
    found = rights()
    assert 0 not in found["users"] + found["groups"]
    assert not found["writes_etc"]


def test_the_supervisor_has_no_rights_of_root() -> None:
    with usable("process").session(LIMITS) as session:
        process = session._place._place._process  # type: ignore[attr-defined]  # of a place in folders
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines)
    assert "0" not in status["Uid"].split() + status["Gid"].split()
    assert int(status["CapEff"], 16) == 0


def test_the_kernel_limits_memory_and_processes() -> None:
    assert LIMITS.memory_bytes < rights()["memory"] <= 3 << 30
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cairn.sandboxes.local.cgroups._parents", dict)  # a machine without control groups
        assert rights()["processes"] == LIMITS.processes + 1  # the supervisor is one


def test_without_the_protection_programs_are_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above can fail: the program only looks at its rights."""
    monkeypatch.setattr(Process, "launch", safety.UNPROTECTED_LAUNCH)
    assert rights()["users"] == [0, 0]
    assert rights()["writes_etc"]


@pytest.mark.as_root
def test_the_marker_restores_the_kind_for_one_test() -> None:
    assert Process.launch is safety.UNPROTECTED_LAUNCH
    assert rights()["users"] == [0, 0]


def test_nested_test_runs_do_not_inherit_the_options_of_this_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.setenv(name, "1")
    assert not [name for name in safety.without_pytest() if name.startswith("PYTEST_")]


def test_the_marker_does_not_affect_other_tests() -> None:
    assert Process.launch is safety._launch_without_root
