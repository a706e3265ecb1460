"""A sandbox in its own folders on this machine's disk, for kinds that cannot mount.

The process that creates the folder holds a lock on it. A folder without a lock belongs to a killed process; the next
start of a session removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cairn.core.errors import SandboxFailure
from cairn.sandboxes import supervisor_source
from cairn.sandboxes.base import Limits
from cairn.sandboxes.inside import files
from cairn.sandboxes.local.place import LocalPlace
from cairn.sandboxes.local.users import SessionUser
from cairn.sandboxes.records import LimitName

_PREFIX = "cairn-sandbox-"
_OF_PROGRAMS = ("work", "tmp")  # folders that programs can write to
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderPlace:
    """A supervisor among the host's processes; it confines each program itself, as configured."""

    def __init__(
        self,
        python: str,
        limits: Limits,
        user: SessionUser | None,
        confinement: Mapping[str, Any] | None,  # Any: JSON
        filter_: bytes,
    ) -> None:
        """Create the folders and start the supervisor.

        `user`: the user of the programs, released with the sandbox; None: the user of this process.

        Raises:
            SandboxFailure: it did not start.
        """
        self._user = user
        remove_left_over()
        self._folder, self._lock = _locked_folder()
        try:
            work, temporary = (self._made(name, user) for name in _OF_PROGRAMS)
            self._folder.chmod(0o755)
            hello: dict[str, Any] = {
                "roots": [temporary],
                "is_first": False,
                "limits": {"has_own_disk": False},
            }  # Any: JSON
            if confinement is not None:
                hello["confinement"] = {**confinement, "writable": [work, temporary]}
            self._place = LocalPlace(
                supervisor_source.command(python),
                home=work,
                env={"TMPDIR": temporary},
                limits=limits,
                user=user,
                has_own_user=user is not None,
                hello=hello,
                confinement=filter_,
            )
        except (SandboxFailure, OSError):
            shutil.rmtree(self._folder, ignore_errors=True)
            os.close(self._lock)
            raise
        self.home, self.env, self.request = work, self._place.env, self._place.request

    def limit_hit(self) -> LimitName | None:
        """Return the limit that the control group enforced since the last call."""
        return self._place.limit_hit()

    def close(self) -> None:
        """End everything and remove the folders."""
        self._place.close()
        if self._user is not None:
            self._user.end_processes()
        _remove(self._folder)  # for folders that the supervisor could not remove, at any depth
        os.close(self._lock)
        if self._user is not None:
            self._user.release()

    def _made(self, name: str, user: SessionUser | None) -> str:
        path = self._folder / name
        path.mkdir(0o700)
        if user is not None:
            os.chown(path, user.number, user.number)
        return str(path)


def remove_left_over() -> None:
    """Remove the folders of killed processes."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # in use, another user's, or just removed
            if folder.lstat().st_uid == os.geteuid():
                lock = os.open(folder, _FOLDER)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(folder)
                finally:
                    os.close(lock)


def _locked_folder() -> tuple[Path, int]:
    """Create a folder and lock it; `remove_left_over` matches its name only after it is locked."""
    new = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}{os.getpid()}-"))
    lock = os.open(new, _FOLDER)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return new.rename(new.with_name(new.name[1:])), lock


def _remove(folder: Path) -> None:
    for name in _OF_PROGRAMS:
        if (folder / name).is_dir():
            files.wipe(str(folder / name))
    shutil.rmtree(folder)
