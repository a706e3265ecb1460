"""Promises of Landlock alone, and its errors on machines where it cannot work."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cairn.core.errors import CairnError
from cairn.sandboxes.inside import confine
from cairn.sandboxes.kinds.landlock import CAPABILITIES
from tests.sandboxes.usable import usable


def test_programs_have_a_folder_for_the_moment_and_no_other() -> None:
    source = """
import os, tempfile
with tempfile.NamedTemporaryFile() as file:
    print(file.name.startswith(os.environ["TMPDIR"]))
for path in ("/tmp", "/var/tmp", "/etc", "/proc", "/sys", "/"):
    try:
        print(path, os.listdir(path))
    except OSError:
        pass
"""
    with usable("landlock").session() as session:
        assert session.run_python(source).output == "True\n"
        assert session.run(["sh", "-c", "echo x > $TMPDIR/kept"]).is_ok
        session.reset()
        assert session.run(["sh", "-c", "ls $TMPDIR"]).stdout == b""


def test_a_kernel_without_landlock_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = usable("landlock")
    monkeypatch.setattr(confine, "abi", lambda: 0)
    with pytest.raises(CairnError, match="Landlock switched off; version 4 is needed"):
        sandbox.session()


SOCKETS = """
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    try:
        socket.socket(socket.AF_UNIX, kind).connect(PATH)
        print("connected")
    except OSError as error:
        print(error.errno)
a, b = socket.socketpair()
a.send(b"x")
print(b.recv(1))
"""


def test_socket_files_of_the_host_are_out_of_reach() -> None:
    with tempfile.TemporaryDirectory(prefix="cairn-user-") as name, socket.socket(socket.AF_UNIX) as server:
        path = Path(name, "socket")
        server.bind(str(path))
        server.listen()
        Path(name).chmod(0o755)
        path.chmod(0o777)
        with usable("landlock").session() as session:
            found = session.run_python(f"PATH = {str(path)!r}\n{SOCKETS}").output
    assert found == "97\n97\n97\nb'x'\n"  # no such family; a pair of sockets within a program works


def test_an_ordinary_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = usable("landlock")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CairnError, match="it needs root, which gives each session a user of its own"):
        sandbox.session()


TRIED = """
from cairn.sandboxes.registry import new_sandbox
sandbox = new_sandbox("landlock")
if (problem := sandbox.problem()) is not None:
    raise SystemExit(problem)
with sandbox.session() as session:
    print(session.run_python("import os; os.mkdir('closed', 0); print(os.getuid() > 60_000)").output)
    print(session.run_python("while True: pass", wall_s=0.2).limit)
    session.reset()
    print(session.list_files())
"""


@pytest.mark.rotating(3)
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv, of util-linux")
@pytest.mark.parametrize("without", [None, *CAPABILITIES])
def test_root_of_a_container_needs_five_capabilities(without: str | None) -> None:
    usable("landlock")
    held = ",".join(f"+{name.lower()}" for name in CAPABILITIES if name != without)
    rights = ["--no-new-privs", "--inh-caps", "-all", "--bounding-set", f"-all,{held}"]
    done = subprocess.run(
        ["setpriv", *rights, sys.executable, "-c", TRIED],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    if without is None:
        assert (done.returncode, done.stdout) == (0, "True\n\nwall\n()\n"), done.stderr
    else:
        assert (done.returncode, f"root lacks the capabilities {without} here" in done.stderr) == (1, True), done.stderr
