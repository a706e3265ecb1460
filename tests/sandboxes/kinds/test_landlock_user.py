"""Landlock as an ordinary user, whose programs run as the user of the host's programs: these stay out of reach."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest

from cairn.sandboxes.inside import confine
from cairn.sandboxes.kinds.landlock import Landlock, LandlockConfig
from tests.sandboxes.ordinary_user import as_ordinary_user
from tests.sandboxes.usable import usable

ATTRIBUTES = """
import os
calls = {
    "chmod": lambda path: os.chmod(path, 0o777),
    "fchmodat": lambda path: os.chmod(os.path.basename(path), 0o777, dir_fd=os.open(os.path.dirname(path), os.O_PATH)),
    "by descriptor": lambda path: os.chmod(f"/proc/self/fd/{os.open(path, os.O_PATH)}", 0o777),
    "utime": lambda path: os.utime(path, (1, 1)),
    "setxattr": lambda path: os.setxattr(path, "user.hostile", b"x"),
    "removexattr": lambda path: os.removexattr(path, "user.kept"),
    "chown": lambda path: os.chown(path, os.getuid(), os.getgid()),
    "truncate": lambda path: os.truncate(path, 0),
    "unlink": os.unlink,
    "rename": lambda path: os.rename(path, path + "x"),
    "link": lambda path: os.link(path, "linked"),
    "open": lambda path: open(path).read(),
}
for name, call in calls.items():
    try:
        call(PATH)
    except OSError:
        pass
"""
PROCESSES = """
import os, resource, signal, ctypes
libc = ctypes.CDLL(None)
calls = [
    lambda: resource.prlimit(PID, resource.RLIMIT_NOFILE, (3, 3)),
    lambda: resource.prlimit(PID, resource.RLIMIT_FSIZE, (0, 0)),
    lambda: os.setpriority(os.PRIO_PROCESS, PID, 19),
    lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19),
    lambda: os.sched_setaffinity(PID, {0}),
    lambda: os.sched_setscheduler(PID, os.SCHED_BATCH, os.sched_param(0)),
    lambda: libc.syscall(251, 1, PID, (3 << 13)),  # ioprio_set: idle
    lambda: os.kill(PID, signal.SIGUSR1),
    lambda: os.kill(PID, signal.SIGSTOP),
    lambda: signal.pidfd_send_signal(os.pidfd_open(PID), signal.SIGUSR1),
    lambda: open(f"/proc/{PID}/oom_score_adj", "w").write("1000"),
    lambda: open(f"/proc/{PID}/mem", "rb").read(1),
    lambda: open(f"/proc/{PID}/environ", "rb").read(1),
]
for call in calls:
    try:
        call()
    except OSError:
        pass
"""
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


def _state(path: Path) -> list[Any]:  # Any: JSON
    about = path.stat()
    attributes = {name: os.getxattr(path, name).decode() for name in os.listxattr(path)}
    return [about.st_mode, about.st_mtime_ns, about.st_size, about.st_nlink, attributes, path.read_text()]


def _process_state(pid: int) -> list[Any]:  # Any: JSON
    import resource

    limits = [resource.prlimit(pid, kind) for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)]
    affinity, policy = sorted(os.sched_getaffinity(pid)), os.sched_getscheduler(pid)
    return [
        limits,
        os.getpriority(os.PRIO_PROCESS, pid),
        affinity,
        policy,
        Path(f"/proc/{pid}/oom_score_adj").read_text(),
    ]


@pytest.fixture(autouse=True)
def works() -> None:
    usable("landlock")


def test_attributes_of_the_users_files_stay_and_those_of_the_sandbox_can_be_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def work() -> list[Any]:  # Any: JSON
        with tempfile.TemporaryDirectory(prefix="cairn-user-") as name:
            path = Path(name, "file")
            path.write_text("text")
            path.chmod(0o600)
            os.setxattr(path, "user.kept", b"x")
            os.utime(path, (10, 10))
            before = _state(path)
            with Landlock(LandlockConfig()).session() as session:
                result = session.run_python(f"PATH = {str(path)!r}\n{ATTRIBUTES}")
                assert result.is_ok, result.output
                own = session.run(
                    ["sh", "-c", "touch a && chmod 755 a && cp -p a b && mkdir d && tar c a | tar x -C d"]
                )
            return [before, _state(path), own.is_ok, own.output]

    before, after, is_ok, output = as_ordinary_user(work, monkeypatch)
    assert after == before
    assert (is_ok, output) == (True, "")


def test_limits_priority_and_signals_of_the_users_processes_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> list[Any]:  # Any: JSON
        before = _process_state(os.getpid())
        with Landlock(LandlockConfig()).session() as session:
            result = session.run_python(f"PID = {os.getpid()}\n{PROCESSES}")
            own = session.run_python("import os\nos.setpriority(os.PRIO_PROCESS, 0, 5)\nos.sched_setaffinity(0, {0})")
        return [before, _process_state(os.getpid()), result.output, own.output]

    before, after, output, own = as_ordinary_user(work, monkeypatch)
    assert after == before
    assert (output, own) == ("", "")


def _connect() -> str:
    with tempfile.TemporaryDirectory(prefix="cairn-user-") as name, socket.socket(socket.AF_UNIX) as server:
        path = str(Path(name, "socket"))
        server.bind(path)
        server.listen()
        Path(name).chmod(0o755)
        Path(path).chmod(0o777)
        with Landlock(LandlockConfig()).session() as session:
            return session.run_python(f"PATH = {path!r}\n{SOCKETS}").output


def test_socket_files_of_the_host_are_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = "97\n97\n97\nb'x'\n"  # no such family; a pair of sockets within a program works
    assert as_ordinary_user(_connect, monkeypatch) == expected
    assert _connect() == expected


def test_a_kernel_that_cannot_restrict_signals_is_refused_to_ordinary_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confine, "abi", lambda: 5)
    problem = as_ordinary_user(lambda: Landlock(LandlockConfig()).problem(), monkeypatch)
    assert problem.startswith("the kernel has Landlock 5, which lets programs send signals")
    if os.geteuid() == 0:
        assert Landlock(LandlockConfig()).problem() is None
