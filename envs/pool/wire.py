"""Messages between a pool and its worker processes: four bytes of length, then JSON.

Text keeps lone surrogates. Tuples arrive as lists and bytes as base64; the receiver restores them.
"""

from __future__ import annotations

import base64
import json
import socket
import struct
import time
from typing import Any

import numpy as np

_HEADER = struct.Struct("!I")


class WireError(Exception):
    """The other process closed the connection, or sent an invalid message."""


def send(sock: socket.socket, message: dict[str, Any]) -> None:  # Any: JSON
    """Send one message.

    Raises:
        TypeError, ValueError: the message is not JSON (an object, NaN).
        TimeoutError, OSError: the other process does not read, or has ended.
    """
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, default=_encoded)
    body = text.encode("utf-8", "surrogatepass")
    sock.sendall(_HEADER.pack(len(body)) + body)


def receive(sock: socket.socket, max_bytes: int, timeout_s: float | None) -> dict[str, Any]:  # Any: JSON
    """Return the next message; its length is checked before the content is read.

    Raises:
        WireError: the other process has ended, or the message is too long or not a JSON object.
        TimeoutError: the message was incomplete after `timeout_s` seconds.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    (length,) = _HEADER.unpack(_read(sock, _HEADER.size, deadline))
    if length > max_bytes:
        raise WireError(f"a message of {length} bytes; the limit is {max_bytes}")
    try:
        message = json.loads(_read(sock, length, deadline).decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise WireError(f"a message that is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise WireError(f"a message that is not an object: {message!r:.80}")
    return message


def _encoded(value: object) -> object:
    """Return bytes as base64, and a NumPy scalar as a Python scalar."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"an object of type {type(value).__name__}")


def _read(sock: socket.socket, count: int, deadline: float | None) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        if deadline is not None:
            sock.settimeout(max(1e-3, deadline - time.monotonic()))
        part = sock.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise WireError("the connection closed")
        parts += part
    return bytes(parts)
