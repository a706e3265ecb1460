"""A lock on a folder that one process writes, such as a run's. The system releases it when the process ends."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cairn.core.errors import CairnError

_FILE = ".lock"


@contextmanager
def writing_to(folder: Path, kind: str) -> Iterator[None]:
    """Make the folder if it is missing and hold its lock; `kind` is for messages, such as "a run".

    The lock file names the process and the machine of its holder. A file that a killed process left behind holds
    nothing. On a network file system without locks, processes on other machines are not noticed.

    Raises:
        CairnError: another process holds it, or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        opened = (folder / _FILE).open("a+", encoding="utf-8")
    except OSError as error:
        why = error.strerror or str(error)
        raise CairnError(f"Cannot write {kind} to {str(folder)!r}: {why}. Name another place: --folder DIR") from error
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
        yield
