"""Counts the files that programs hold: in folders of any depth and mode, and unlinked ones."""

from __future__ import annotations

import contextlib
import os
import stat

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_DEPTH = 256  # levels of folders: each holds a descriptor while its contents are counted
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NAMED_ONLY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_AND_SEARCH = 0o500  # of the owner, which is the user of the programs
_BLOCK = 512  # bytes of a block in `stat`


class TooDeep(Exception):  # noqa: N818  (an outcome, not a fault)
    """Folders are more than `MAX_DEPTH` levels deep."""


class DiskUsage:
    """The files that programs hold at one moment."""

    def __init__(self, roots: Sequence[str], pids: Sequence[int], file_bytes: int, most_files: int) -> None:
        """Count them.

        Args:
            roots: folders that programs can write to.
            pids: processes of the programs.
            file_bytes: size limit of a file; an unlinked file that is mapped and not open counts as this size.
            most_files: counting ends above this number.

        Raises:
            TooDeep: folders are more than `MAX_DEPTH` levels deep.
        """
        self.files, self.disk_bytes = 0, 0
        self.unreadable: set[int] = set()  # processes whose open files cannot be read
        self._seen: set[tuple[int, int]] = set()
        for about in listed(roots):
            self._add(about)
            if self.files > most_files:
                return
        devices = {os.stat(root).st_dev for root in roots}
        for pid in pids:
            self._add_open(pid, devices)
        for pid in pids:
            self._add_mapped(pid, roots, file_bytes)

    def _add(self, about: os.stat_result) -> None:
        if about.st_nlink != 1 and not stat.S_ISDIR(about.st_mode):
            key = about.st_dev, about.st_ino
            if key in self._seen:
                return
            self._seen.add(key)
        self.files += 1
        self.disk_bytes += about.st_blocks * _BLOCK

    def _add_open(self, pid: int, devices: set[int]) -> None:
        """Add the unlinked files among the open files of a process."""
        folder = f"/proc/{pid}/fd"
        try:
            names = os.listdir(folder)
        except PermissionError:
            self.unreadable.add(pid)
            return
        except OSError:  # the process has ended
            return
        for name in names:
            with contextlib.suppress(OSError):
                about = os.stat(f"{folder}/{name}")
                if stat.S_ISREG(about.st_mode) and about.st_nlink == 0 and about.st_dev in devices:
                    self._add(about)

    def _add_mapped(self, pid: int, roots: Sequence[str], file_bytes: int) -> None:
        """Add the unlinked files that a process has mapped and closed."""
        inodes = {inode for _, inode in self._seen}
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", "rb") as file:
            for line in file:
                parts = line.split(None, 5)
                if len(parts) < 6 or not parts[5].rstrip(b"\n").endswith(b" (deleted)"):
                    continue
                inode, device = int(parts[4]), parts[3]
                if inode not in inodes and any(parts[5].startswith(os.fsencode(root) + b"/") for root in roots):
                    inodes.add(inode)
                    self._seen.add((int(device.partition(b":")[0], 16), inode))
                    self.files, self.disk_bytes = self.files + 1, self.disk_bytes + file_bytes


def listed(roots: Sequence[str]) -> Iterator[os.stat_result]:
    """Yield the status of each file and folder below the roots; files that vanish are left out.

    A folder that its owner cannot read is made readable while it is counted.

    Raises:
        TooDeep: folders are more than `MAX_DEPTH` levels deep.
    """
    for root in roots:
        yield from _below(None, root, 0)


def _below(parent: int | None, name: str, depth: int) -> Iterator[os.stat_result]:
    if depth > MAX_DEPTH:
        raise TooDeep
    try:
        folder, mode = _opened(parent, name)
    except OSError:  # it has been removed or replaced
        return
    try:
        for inner in os.listdir(folder):
            with contextlib.suppress(OSError):
                about = os.stat(inner, dir_fd=folder, follow_symlinks=False)
                yield about
                if stat.S_ISDIR(about.st_mode):
                    yield from _below(folder, inner, depth + 1)
    finally:
        if mode is not None:
            os.fchmod(folder, mode)
        os.close(folder)


def _opened(parent: int | None, name: str) -> tuple[int, int | None]:
    """Return the descriptor of a folder, and its original mode if it had to be changed."""
    place = os.open(name, _NAMED_ONLY, dir_fd=parent)
    try:
        mode = stat.S_IMODE(os.fstat(place).st_mode)
        is_closed = mode & _READ_AND_SEARCH != _READ_AND_SEARCH
        if is_closed:
            os.chmod(f"/proc/self/fd/{place}", mode | _READ_AND_SEARCH)
        return os.open(".", _FOLDER, dir_fd=place), mode if is_closed else None
    finally:
        os.close(place)
