"""Users of sessions: no two sessions of a machine have the same one, and none is lost with a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.base import Limits, Session
from cairn.sandboxes.local import users
from cairn.sandboxes.local.users import SessionUser, take_user
from tests.sandboxes.usable import usable

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root hands out users")

# Users that no session outside of this file takes: the other processes of a test run take lower ones.
FIRST = users.FIRST + users.COUNT + 100 * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 5)
HOLDS = f"""
import sys
from cairn.sandboxes.local import users
users.FIRST = {FIRST}
held = [users.take_user() for _ in range(6)]
print(*(user.number for user in held), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "FIRST", FIRST)
    monkeypatch.setattr(users, "COUNT", 100)


@contextmanager
def process(source: str) -> Iterator[tuple[subprocess.Popen[str], set[int]]]:
    """Start a process that takes users; give it and their numbers."""
    command = [sys.executable, "-c", source]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        try:
            yield started, {int(number) for number in started.stdout.readline().split()}
        finally:
            started.kill()


def test_processes_take_different_users_and_those_of_a_killed_one_are_free_again() -> None:
    with process(HOLDS) as (first, held), process(HOLDS) as (_, others):
        assert (held, others) == (set(range(FIRST, FIRST + 6)), set(range(FIRST + 6, FIRST + 12)))
        first.kill()
        first.wait()
        with process(HOLDS) as (_, again):
            assert again == held  # every process begins at the first user


def test_the_user_of_an_open_session_is_taken_and_free_when_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    with usable("landlock").session() as session:
        number = int(session.run(["id", "-u"]).stdout)
        offer_only(monkeypatch, number)
        with pytest.raises(SandboxFailure, match="All 1 users of sandboxes are taken"):
            take_user()
    user = taken()
    assert user.number == number
    user.release()


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_every_session_has_another_user(kind: str) -> None:
    with usable(kind).session() as first, usable(kind).session() as second:
        assert _owner(first) != _owner(second)


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_the_user_of_a_session_that_does_not_start_is_released(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    sandbox, user = usable(kind), taken()
    offer_only(monkeypatch, user.number)
    user.release()
    for broken in ("cairn.sandboxes.local.seccomp.program", "cairn.sandboxes.local.place.wire.packed"):
        with monkeypatch.context() as patched:
            patched.setattr(broken, _failing)
            with pytest.raises((OSError, SandboxFailure)):
                sandbox.session()
        taken().release()


def _failing(*_: object, **__: object) -> NoReturn:
    raise OSError("no descriptors are left")


def test_a_fork_does_not_release_the_users_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    user = taken()
    offer_only(monkeypatch, user.number)
    pid = os.fork()
    if pid == 0:
        user.release()
        os._exit(0)
    os.waitpid(pid, 0)
    with pytest.raises(SandboxFailure, match="are taken"):
        take_user()
    user.release()
    taken().release()


def test_a_user_is_released_although_a_fork_has_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    user = taken()
    offer_only(monkeypatch, user.number)
    pid = os.fork()
    if pid == 0:
        time.sleep(30)
        os._exit(0)
    user.release()
    taken().release()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@pytest.mark.parametrize("fault", ["link", "of another user", "others may write"])
def test_a_folder_of_locks_that_others_control_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(users, "Path", lambda *_: tmp_path)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    path = tmp_path / "cairn-users"
    if fault == "link":
        path.symlink_to(tmp_path)
    else:
        path.mkdir(0o700)
        if fault == "of another user":
            os.chown(path, 1234, 1234)
        else:
            path.chmod(0o777)
    with pytest.raises(SandboxFailure, match="No folder can hold the locks"):
        take_user()


def test_programs_end_with_a_session_whose_supervisor_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where no control group holds them."""
    monkeypatch.setattr("cairn.sandboxes.local.cgroups._parents", dict)
    with usable("landlock").session(Limits(wall_s=5)) as session:
        session.start_program("import time\ntime.sleep(600)")
        user = session._place._user.number  # type: ignore[attr-defined]
        assert users._processes_of(user)
        process = session._place._place._process  # type: ignore[attr-defined]
        process.kill()
        process.wait()
    assert users._processes_of(user) == []


def offer_only(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Leave one user to share."""
    monkeypatch.setattr(users, "FIRST", number)
    monkeypatch.setattr(users, "COUNT", 1)


def taken() -> SessionUser:
    user = take_user()
    assert user is not None
    return user


def _owner(session: Session) -> int:
    place: Any = getattr(session._place, "_place", session._place)
    lines = Path("/proc", str(place._process.pid), "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Uid:"))


def test_a_launcher_whose_child_holds_its_pipe_is_a_failed_start_and_releases_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sandbox, user = usable("bubblewrap"), taken()
    offer_only(monkeypatch, user.number)
    user.release()

    def held(process: subprocess.Popen[bytes], *_: object, **__: object) -> NoReturn:
        raise subprocess.TimeoutExpired(process.args, 2.0)

    with monkeypatch.context() as patched:
        patched.setattr("cairn.sandboxes.local.place.wire.packed", _failing)
        patched.setattr(subprocess.Popen, "communicate", held)
        with pytest.raises(SandboxFailure, match="did not start"):
            sandbox.session()
    taken().release()
