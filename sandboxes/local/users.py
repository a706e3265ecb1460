"""Users of sessions: each session that root starts has its own user, unique on this machine.

All Cairn processes of root share the users by locks on files, one file per user, in a folder that only root can write
to. The kernel releases a lock when its process ends, for any reason.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cairn.core.errors import SandboxFailure

FIRST, COUNT = 61_000, 4_000  # user numbers that systems leave unused
_NAME = "cairn-users"
_PATIENCE_S = 5.0
_TURNS = itertools.count()


class SessionUser:
    """A user without rights, held by one session until it is released."""

    def __init__(self, number: int, lock: int) -> None:
        """`lock`: descriptor of the locked file."""
        self.number = number
        self._lock, self._owner = lock, os.getpid()

    def end_processes(self) -> None:
        """Kill all processes of this user, including those whose supervisor was killed.

        Raises:
            SandboxFailure: some are left after 5 s.
        """
        until = time.monotonic() + _PATIENCE_S
        while found := _processes_of(self.number):
            for number in (signal.SIGSTOP, signal.SIGKILL):  # a stopped process cannot fork
                for pid in found:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
            if time.monotonic() > until:
                raise SandboxFailure(f"Processes {found[:5]} of a sandbox's user {self.number} cannot be killed")
            time.sleep(1e-3)

    def release(self) -> None:
        """Release the user. In a fork of the process that took it, this does nothing."""
        if self._lock >= 0 and self._owner == os.getpid():
            fcntl.flock(self._lock, fcntl.LOCK_UN)  # closing is not enough: forks have the descriptor too
            os.close(self._lock)
            self._lock = -1


def take_user() -> SessionUser | None:
    """Return a user that no other session has, or None if this process is not root.

    Raises:
        SandboxFailure: all are taken, or the folder of locks cannot be created.
    """
    if os.geteuid() != 0:
        return None
    folder = _folder()
    try:
        first = next(_TURNS)  # so that a just released user is reused last
        for number in (FIRST + (first + i) % COUNT for i in range(COUNT)):
            lock = os.open(str(number), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            return SessionUser(number, lock)
    except OSError as error:
        raise SandboxFailure(f"Cannot lock a user for a sandbox: {error}") from error
    finally:
        os.close(folder)
    raise SandboxFailure(f"All {COUNT} users of sandboxes are taken; end other runs on this machine")


@contextlib.contextmanager
def user_for_start() -> Iterator[SessionUser | None]:
    """Yield the user for a session that is started in the block; release it if the block fails."""
    user = take_user()
    try:
        yield user
    except BaseException:  # including interrupts; raised again
        if user is not None:
            user.release()
        raise


def _folder() -> int:
    """Return the descriptor of the folder of locks; only root may own and write to it."""
    problems = []
    for parent in (Path("/run"), Path(tempfile.gettempdir())):
        path = parent / _NAME
        try:
            with contextlib.suppress(FileExistsError):
                path.mkdir(0o700)
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            problems.append(str(error))
            continue
        about = os.fstat(folder)
        if about.st_uid == 0 and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return folder
        os.close(folder)
        problems.append(f"{path} does not belong to root alone")
    raise SandboxFailure(f"No folder can hold the locks on users of sandboxes: {'; '.join(problems)}")


def _processes_of(user: int) -> list[int]:
    """Return the running processes of a user."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            lines = Path("/proc", name, "status").read_text(errors="replace").splitlines()
            about = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
            if str(user) in about["Uid"].split() and about["State"][0] not in "ZX":
                found.append(int(name))
    return found
