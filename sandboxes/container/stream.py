"""A container's standard streams over Docker's engine, which sends output in frames.

A frame is a header of eight bytes (stream type, three zeros, length) followed by as many bytes as the length says.
"""

from __future__ import annotations

import contextlib
import struct
import time
from typing import Any

_FRAME = struct.Struct(">BxxxI")
_ERRORS = 2  # stream type of standard error
_KEPT = 400  # bytes of standard error


class Attached:
    """A container's standard input, and its output decoded from the engine's frames."""

    def __init__(self, attached: Any) -> None:  # Any: the SDK has no types
        self._response = attached  # the connection ends when this is garbage-collected
        self._socket = getattr(attached, "_sock", attached)  # the socket or channel, not the file around it
        self._left, self._kind = 0, 0  # remaining bytes and stream type of the current frame
        self._errors = bytearray()

    def send(self, data: bytes, timeout_s: float) -> None:
        """Send all data."""
        self._socket.settimeout(timeout_s)
        self._socket.sendall(data)

    def read(self, count: int, timeout_s: float) -> bytes:
        """Return `count` bytes of standard output; standard error is stored separately."""
        until, parts = time.monotonic() + timeout_s, bytearray()
        while len(parts) < count:
            if not self._left:
                self._kind, self._left = _FRAME.unpack(self._exactly(_FRAME.size, until))
                continue
            if self._kind == _ERRORS:
                self._errors = (self._errors + self._received(self._left, until))[-_KEPT:]
            else:
                parts += self._received(min(self._left, count - len(parts)), until)
        return bytes(parts)

    def error_output(self) -> str:
        """Return the end of the output on standard error."""
        return self._errors.decode("utf-8", "replace").strip()

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self._socket.close()
        self._response.close()

    def _received(self, most: int, until: float) -> bytes:
        """Return the next bytes of the frame, at most `most`."""
        part = self._once(most, until)
        self._left -= len(part)
        return part

    def _exactly(self, count: int, until: float) -> bytes:
        parts = b""
        while len(parts) < count:
            parts += self._once(count - len(parts), until)
        return parts

    def _once(self, most: int, until: float) -> bytes:
        self._socket.settimeout(max(1e-3, until - time.monotonic()))
        part: bytes = self._socket.recv(min(most, 1 << 20))
        if not part:
            raise OSError("it has ended")
        return part
