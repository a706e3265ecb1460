"""Folders on disk: SHA-256 manifests that detect changed files, and a single-writer lock."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cairn.core.errors import CairnError

FILE = "manifest.json"


def write_manifest(folder: Path) -> None:
    """Write the hashes of the files of the folder, without its sub-folders."""
    (folder / FILE).write_text(json.dumps(_hashes(folder)))


def check_manifest(folder: Path) -> str:
    """Return the fault of a folder that has a manifest, or "" if its files match the manifest.

    Raises:
        OSError: the manifest is missing, or a file cannot be read.
    """
    try:
        expected = json.loads((folder / FILE).read_text())
    except ValueError:
        return f"its {FILE} is not JSON"
    found = _hashes(folder)
    if expected == found:
        return ""
    names = set(expected) if isinstance(expected, dict) else set()
    lost, extra = sorted(names - set(found)), sorted(set(found) - names)
    if lost or extra:
        return f"its files do not match its manifest: missing {lost[:3]}, unexpected {extra[:3]}"
    changed = [name for name in sorted(found) if expected[name] != found[name]]
    return f"its files do not match its manifest: {', '.join(changed[:3])} changed"


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != FILE)
    return {path.name: file_hash(path) for path in files}


_FILE = ".lock"
_HOLDER = re.compile(r"process (?P<pid>[1-9][0-9]{0,9}) on (?P<host>.{1,255})\n")


def new_folder(path: Path, kind: str) -> Path:
    """Create a folder and return it: `path`, or if that exists, the first of ``path-2``, ``path-3``, ... that does not.

    `kind` is for messages, such as "a run".

    Raises:
        CairnError: the folder cannot be created.
    """
    folder, number = path, 1
    while True:
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
            folder = path.with_name(f"{path.name}-{number}")
        except OSError as error:
            raise _not_writable(folder, kind, error) from error
        else:
            return folder


@contextmanager
def writing_to(folder: Path, kind: str) -> Iterator[None]:
    """Create the folder if it is missing and hold its lock.

    `kind` is for messages, such as "a run".

    The lock file names the process and the host of its holder. A lock file left behind by a killed process does not
    hold the lock. On a network file system without locks, writers on other hosts are not detected.

    Raises:
        CairnError: another process holds the lock, or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        opened = (folder / _FILE).open("a+", encoding="utf-8")
    except OSError as error:
        raise _not_writable(folder, kind, error) from error
    with opened as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read(200).strip() or "another process"
            raise CairnError(f"{str(folder)!r} is being written by {holder}; wait for it, or end it") from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        lock.flush()
        try:
            yield
        finally:
            lock.truncate(0)


def _not_writable(folder: Path, kind: str, error: OSError) -> CairnError:
    why = error.strerror or str(error)
    return CairnError(f"Cannot write {kind} to {str(folder)!r}: {why}. Name another place: --folder DIR")


def is_written(folder: Path) -> bool | None:
    """Return whether the last process that locked the folder with `writing_to` still runs.

    None if it ran on another host; False if nobody has written to the folder. The lock is not touched.
    """
    try:
        found = _HOLDER.fullmatch((folder / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if found is None:
        return False
    if found["host"] != socket.gethostname():
        return None
    try:
        os.kill(int(found["pid"]), 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
