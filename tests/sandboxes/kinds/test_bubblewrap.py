"""Promises of bubblewrap alone, and its errors on machines where it cannot work."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from cairn.core.errors import CairnError, ConfigError, SandboxFailure
from cairn.sandboxes.attacks.attack import attacks
from cairn.sandboxes.base import Limits
from cairn.sandboxes.kinds import bubblewrap
from cairn.sandboxes.local.cgroups import ControlGroup
from cairn.sandboxes.registry import new_sandbox
from tests.sandboxes.usable import usable

FAMILY = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = bytes(bytearray(8 << 20))
        time.sleep(9)
time.sleep(9)
"""


def test_a_session_has_its_own_namespaces_and_folder() -> None:
    source = """
import os, socket
print(os.getpid(), os.getuid(), socket.gethostname(), sorted(os.listdir("/")), os.listdir("/work"), os.getcwd())
print(sum(name.isdigit() for name in os.listdir("/proc")))
"""
    with usable("bubblewrap").session() as session:
        said, count = session.run_python(source).stdout.decode().splitlines()
    assert " 1000 sandbox ['bin', 'dev', 'etc', " in said
    assert said.endswith("[] /work")
    assert "root" not in said
    assert "home" not in said
    assert count == "2"  # the supervisor and this program


def test_root_gives_up_its_rights_before_it_starts() -> None:
    """To the kernel a user of root's own namespace is root: files such as core_pattern would be open to it."""
    if os.geteuid() != 0:
        pytest.skip("this is not root")
    with usable("bubblewrap").session() as session:
        place = session._place
        owners = {Path(f"/proc/{pid}").stat().st_uid for pid in _members(place)}
    assert owners
    assert 0 not in owners


def _members(place: object) -> list[int]:
    process = place._process  # type: ignore[attr-defined]  # of a local place
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [process.pid, *map(int, children)]


def test_folders_of_the_host_by_request_and_read_only() -> None:
    usable("bubblewrap")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        (Path(folder) / "table").write_text("1 2 3")
        with new_sandbox("bubblewrap", binds=[folder]).session() as session:
            assert session.run(["cat", f"{folder}/table"]).stdout == b"1 2 3"
            assert session.run(["touch", f"{folder}/new"]).exit_code == 1
    for path in ("/tmp/x", "/work", "relative"):
        with pytest.raises(ConfigError, match="an absolute path outside of /tmp"):
            new_sandbox("bubblewrap", binds=[path])


def test_errors_name_the_missing_requirement(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = usable("bubblewrap")
    elsewhere = new_sandbox("bubblewrap", python="/usr/bin/python9")
    with pytest.raises(CairnError, match=r"cannot be used: there is no /usr/bin/python9; install Python"):
        elsewhere.session()
    monkeypatch.setattr(bubblewrap, "_namespaces_refused", lambda: "no namespaces; use the sandbox 'landlock'")
    with pytest.raises(CairnError, match="use the sandbox 'landlock'"):
        sandbox.session()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(CairnError, match="apt-get install bubblewrap"):
        sandbox.session()


def test_the_error_of_a_launcher_that_fails_contains_its_output() -> None:
    usable("bubblewrap")
    sandbox = new_sandbox("bubblewrap", binds=["/no/such/folder"])
    with pytest.raises(SandboxFailure, match="did not start: bwrap: Can't find source path /no/such/folder"):
        sandbox.session()


def test_without_control_groups_the_watch_holds_memory_and_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cairn.sandboxes.local.cgroups._parents", dict)
    limits = Limits(memory_bytes=64 << 20, processes=16, wall_s=5)
    assert not ControlGroup(limits).folders
    with usable("bubblewrap").session(limits) as session:
        alone = session.run_python("kept = [bytearray(8 << 20) for _ in range(16)]\nimport time; time.sleep(9)")
        together = session.run_python(FAMILY)
        (forks,) = (attack.source for attack in attacks() if attack.name == "Fork bomb")
        many = session.run_python(f"PROCESSES = 16\n{forks}", wall_s=1)
        assert (alone.limit, together.limit, many.limit) == ("memory", "memory", "processes")
        assert session.run_python("print(1)").is_ok


def test_a_supervisor_that_falls_to_the_memory_limit_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel may choose the supervisor among many small processes.

    The program then ends with the memory limit, and the session continues, empty.
    """
    with usable("bubblewrap").session(Limits(memory_bytes=64 << 20)) as session:
        if not session._place._group.limits_memory:  # type: ignore[attr-defined]  # of a local place
            pytest.skip("no control groups to write to")
        session.write_file("kept", "x")
        os.kill(_members(session._place)[1], 9)
        hits = iter([None, "memory", None])  # as the kernel counts them
        monkeypatch.setattr(session._place, "limit_hit", lambda: next(hits))
        lost = session.run_python("print(1)")
        assert (lost.limit, lost.is_lost, lost.is_ok) == ("memory", True, False)
        assert session.run_python("print(1)").is_ok
        assert session.list_files() == ()
