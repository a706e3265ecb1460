"""File access in a folder that a hostile program may be changing, without following links.

Every path is walked one component at a time from the folder's own descriptor, and no component may be a symbolic link:
every opened file is in the folder, even if the program changes paths at the same moment. Writing replaces a file and
never opens an existing one, so a hard link or a pipe in its place is harmless.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import stat
from collections.abc import Iterator, Sequence

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


MAX_DEPTH = 256  # levels of folders in a listing: each is opened one by one, and paths grow with it


class Refused(Exception):  # noqa: N818  (an answer)
    """A refused request about a file; the text has the reason."""


def write(root: str, path: str, data: bytes, mode: int) -> None:
    """Create or replace a file, and create its folders."""
    with _folder_of(root, path, make=True) as (folder, name):
        _unlink(folder, name, path)
        _create(folder, name, data, mode)


def read(root: str, path: str, max_bytes: int) -> bytes:
    """Return a regular file's bytes."""
    with _folder_of(root, path) as (folder, name):
        try:
            fd = os.open(name, _FILE, dir_fd=folder)
        except OSError as error:
            raise Refused(f"{path}: {_reason(error)}") from None
        with os.fdopen(fd, "rb") as file:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode):
                raise Refused(f"{path}: not a regular file")
            data = file.read(max_bytes + 1)
            if len(data) > max_bytes:
                raise Refused(f"{path}: {about.st_size} bytes; the limit is {max_bytes}")
            return data


def remove(root: str, path: str) -> None:
    """Remove a file, or a folder with its contents."""
    with _folder_of(root, path) as (folder, name):
        try:
            inner = _entered(folder, name)
        except OSError as error:
            raise Refused(f"{path}: {_reason(error)}") from None
        if inner is None:
            os.unlink(name, dir_fd=folder)
            return
        try:
            _empty(inner)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=folder)


def entries(root: str, max_files: int) -> list[tuple[str, str, int, int, str]]:
    """Return (path, kind, size, mode, link target) of all entries of a folder, sorted by path."""
    found: list[tuple[str, str, int, int, str]] = []
    pending = [""]
    while pending:
        prefix = pending.pop()
        with _opened(root, prefix) as folder:
            for name in os.listdir(folder):
                path = f"{prefix}/{name}" if prefix else name
                about = os.stat(name, dir_fd=folder, follow_symlinks=False)
                kind = _KINDS.get(stat.S_IFMT(about.st_mode), "other")
                target = os.readlink(name, dir_fd=folder) if kind == "link" else ""
                found.append((path, kind, about.st_size if kind == "file" else 0, about.st_mode & 0o777, target))
                if len(found) > max_files:
                    raise Refused(f"more than {max_files} files")
                if kind == "folder":
                    if path.count("/") >= MAX_DEPTH:
                        raise Refused(f"folders more than {MAX_DEPTH} levels deep")
                    pending.append(path)
    return sorted(found)


_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


def digest(root: str, max_files: int, max_bytes: int) -> str:
    """Return a hash of paths, kinds, execute permissions and contents.

    Holes of sparse files count as bytes: they are read too.
    """
    whole = hashlib.blake2b(digest_size=16)
    found = _within(entries(root, max_files), max_bytes)
    for path, kind, size, mode, target in found:
        whole.update(
            f"{len(path.encode('utf-8', 'surrogateescape'))} {kind} {size} {mode & 0o111} {len(target)} ".encode()
        )
        whole.update(os.fsencode(path) + os.fsencode(target))
        if kind == "file":
            with _folder_of(root, path) as (folder, name):
                fd = os.open(name, _FILE, dir_fd=folder)
                with os.fdopen(fd, "rb") as file:
                    whole.update(file.read(size))  # bytes that a program appends meanwhile are not read
    return whole.hexdigest()


def pack(root: str, max_files: int, max_bytes: int) -> tuple[dict[str, object], bytes]:
    """Return all entries, and the concatenated bytes of the files among them."""
    found = [entry for entry in _within(entries(root, max_files), max_bytes) if entry[1] != "other"]
    data = bytearray()
    sized = []
    for path, kind, size, mode, target in found:
        if kind == "file":
            content = read(root, path, max_bytes)
            data += content
            size = len(content)
        sized.append((path, kind, size, mode, target))
    return {"entries": sized}, bytes(data)


def _within(found: list[tuple[str, str, int, int, str]], max_bytes: int) -> list[tuple[str, str, int, int, str]]:
    total = sum(entry[2] for entry in found)
    if total > max_bytes:
        raise Refused(f"files of {total} bytes; the limit is {max_bytes}")
    return found


def unpack(root: str, listed: Sequence[tuple[str, str, int, int, str]], data: bytes) -> None:
    """Create the entries that `pack` returned."""
    at = 0
    for path, kind, size, mode, target in listed:
        with _folder_of(root, path, make=True) as (folder, name):
            if kind == "folder":
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=folder)
            elif kind == "link":
                os.symlink(target, name, dir_fd=folder)
            else:
                _create(folder, name, data[at : at + size], mode)
                at += size
    for path, kind, _, mode, _ in reversed(listed):
        if kind == "folder":
            with _folder_of(root, path) as (folder, name):
                os.chmod(name, mode | 0o700, dir_fd=folder)


def wipe(root: str) -> None:
    """Remove all contents of a folder, at any depth and with any permissions."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _empty(folder)
    finally:
        os.close(folder)


def _empty(folder: int) -> None:
    """Remove level by level: nested folders are moved up first, so any depth works."""
    number = 0
    while names := os.listdir(folder):
        for name in names:
            inner = _entered(folder, name)
            if inner is None:
                os.unlink(name, dir_fd=folder)
                continue
            try:
                number = _lift(inner, folder, number)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=folder)


def _lift(inner: int, folder: int, number: int) -> int:
    """Remove a folder's files and move its folders up one level; return the last number used.

    The moved folders get numbered names.
    """
    for name in os.listdir(inner):
        deeper = _entered(inner, name)
        if deeper is None:
            os.unlink(name, dir_fd=inner)
            continue
        os.close(deeper)
        number = next(n for n in itertools.count(number + 1) if not _is_there(folder, f".moved-{n}"))
        os.rename(name, f".moved-{number}", src_dir_fd=inner, dst_dir_fd=folder)
    return number


def _entered(folder: int, name: str) -> int | None:
    """Open a folder in another, after making it accessible; None if it is not a folder."""
    try:
        place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            return None
        raise
    try:
        os.chmod(f"/proc/self/fd/{place}", 0o700)
        return os.open(".", _FOLDER, dir_fd=place)
    finally:
        os.close(place)


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _create(folder: int, name: str, data: bytes, mode: int) -> None:
    with os.fdopen(os.open(name, _NEW, mode & 0o777, dir_fd=folder), "wb") as file:
        file.write(data)


def _unlink(folder: int, name: str, path: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except IsADirectoryError:
        raise Refused(f"{path}: a folder is there") from None


@contextlib.contextmanager
def _folder_of(root: str, path: str, make: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the descriptor of the parent folder of a path, and the path's last component."""
    parts = path.split("/")
    if not path or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise Refused(f"{path!r}: expected a path below the work folder, without '.', '..' and empty parts")
    with _opened(root, "/".join(parts[:-1]), make) as folder:
        yield folder, parts[-1]


@contextlib.contextmanager
def _opened(root: str, path: str, make: bool = False) -> Iterator[int]:
    """Yield the descriptor of a folder below the root."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in filter(None, path.split("/")):
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=folder)
            try:
                inner = os.open(part, _FOLDER, dir_fd=folder)
            except OSError as error:
                raise Refused(f"{path}: {_reason(error)}") from None
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _reason(error: OSError) -> str:
    if error.errno in (errno.ENOTDIR, errno.ELOOP):  # the error of O_NOFOLLOW for a link
        return "not there without following a link"
    return os.strerror(error.errno or 0)
