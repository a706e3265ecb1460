"""A socket file of this machine through which a container hands out one descriptor, before any program runs in it.

Its folder is mounted into the container. When the descriptor has come, the file is gone: what is left in the container
is an empty folder that nobody can write to.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
from pathlib import Path

from cairn.core.errors import SandboxFailure

FOLDER = "/cairn"  # in the container
PATH = f"{FOLDER}/socket"


class ContainerSocket:
    """A socket file that waits for somebody in a container."""

    def __init__(self) -> None:
        """Make it; nobody else of this machine can enter the folder above it."""
        self._whole = Path(tempfile.mkdtemp(prefix="cairn-line-"))
        self.folder = self._whole / "line"
        self.folder.mkdir()
        self.folder.chmod(0o711)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self.folder / "socket"))
        (self.folder / "socket").chmod(0o666)  # the container's user is another
        self._socket.listen(1)

    def received(self, timeout_s: float) -> socket.socket:
        """Return the socket that comes.

        Raises:
            SandboxFailure: none does.
        """
        try:
            self._socket.settimeout(timeout_s)
            with self._socket.accept()[0] as connection:
                connection.settimeout(timeout_s)
                _, fds, _, _ = socket.recv_fds(connection, 1, 1, socket.MSG_CMSG_CLOEXEC)
            return socket.socket(fileno=fds[0])
        except (OSError, IndexError) as error:
            raise SandboxFailure(f"A container hands out no socket: {error}") from error

    def close(self) -> None:
        """Remove it; again does nothing."""
        self._socket.close()
        shutil.rmtree(self._whole, ignore_errors=True)  # it may be gone
