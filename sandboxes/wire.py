"""Messages to a supervisor: two lengths, a JSON object, and bytes that belong to it."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Mapping
from typing import Any

from cairn.core.errors import SandboxFailure

_HEADER = struct.Struct("!II")
_MOST_JSON, _MOST_BYTES = 64 << 20, 1 << 30


def packed(message: Mapping[str, Any], blob: bytes) -> bytes:  # Any: JSON
    """Return a message as bytes."""
    body = json.dumps(message).encode()
    return _HEADER.pack(len(body), len(blob)) + body + blob


def received(read: Callable[[int, float], bytes], timeout_s: float) -> tuple[dict[str, Any], bytes]:  # Any: JSON
    """Return the next message; `read(count, seconds)` returns that many bytes.

    Lengths are checked before the message is read.

    Raises:
        SandboxFailure: the message is malformed.
    """
    until = time.monotonic() + timeout_s
    sizes = _HEADER.unpack(read(_HEADER.size, timeout_s))
    if sizes[0] > _MOST_JSON or sizes[1] > _MOST_BYTES:
        raise SandboxFailure(f"A sandbox announced a message of {sizes} bytes")
    body = read(sizes[0], until - time.monotonic())
    blob = read(sizes[1], until - time.monotonic())
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise SandboxFailure(f"A sandbox sent an invalid message: {body!r:.100}") from None
    if not isinstance(message, dict):
        raise SandboxFailure(f"A sandbox sent an invalid message: {body!r:.100}")
    return message, blob
