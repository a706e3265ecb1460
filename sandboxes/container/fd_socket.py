"""A socket file by which a container sends one descriptor, before any program runs.

Its folder is mounted into the container. Once the descriptor has arrived, the file is removed: the container keeps an
empty folder that is read-only.
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
    """A socket file that waits for one connection from a container."""

    def __init__(self) -> None:
        """Create it, in a folder that other users of this machine cannot enter."""
        self._whole = Path(tempfile.mkdtemp(prefix="cairn-line-"))
        self.folder = self._whole / "line"
        self.folder.mkdir()
        self.folder.chmod(0o711)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self.folder / "socket"))
        (self.folder / "socket").chmod(0o666)  # the container has another user
        self._socket.listen(1)

    def received(self, timeout_s: float) -> socket.socket:
        """Return the socket that the container sends.

        Raises:
            SandboxFailure: none arrived.
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
        """Remove it; a second call does nothing."""
        self._socket.close()
        shutil.rmtree(self._whole, ignore_errors=True)  # it may be gone
