"""Common parts of remote sandbox clients and servers: token, limit header, message decoding."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from cairn.core.errors import CairnError, SandboxFailure
from cairn.sandboxes import wire

TOKEN_ENV = "CAIRN_SANDBOX_TOKEN"
LIMIT_HEADER = "cairn-limit"  # the limit that control groups enforced during a request
_LEAST_TOKEN = 16  # characters
_MAKE_ONE = "make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))' > FILE"


def token(given: str | None, file: str | None) -> str:
    """Return the shared token: the given one, else the file's, else that of CAIRN_SANDBOX_TOKEN.

    Raises:
        CairnError: it is missing or invalid; the message does not show it.
    """
    if given is not None:
        return _sound(given, "`token`")
    if file is not None:
        try:
            return _sound(Path(file).read_text(encoding="utf-8"), file)
        except (OSError, UnicodeDecodeError) as error:
            raise CairnError(f"Cannot read the sandbox token in {file!r}: {error}; {_MAKE_ONE}") from None
    if (value := os.environ.get(TOKEN_ENV)) is not None:
        return _sound(value, TOKEN_ENV)
    raise CairnError(f"A sandbox token is needed, in a file or in the variable {TOKEN_ENV}; {_MAKE_ONE}")


def unpacked(body: bytes) -> tuple[dict[str, Any], bytes]:  # Any: JSON
    """Return the message in a body.

    Raises:
        SandboxFailure: the body is not a message.
    """
    stream = io.BytesIO(body)

    def read(count: int, _: float) -> bytes:
        part = stream.read(count)
        if len(part) < count:
            raise SandboxFailure(f"Expected a message of the sandbox protocol, got {len(body)} bytes: {body!r:.60}")
        return part

    return wire.received(read, 0.0)


def _sound(text: str, where: str) -> str:
    found = text.strip()
    if len(found) < _LEAST_TOKEN or not found.isascii() or not found.isprintable() or " " in found:
        raise CairnError(
            f"{where}: expected a sandbox token of at least {_LEAST_TOKEN} printable ASCII characters without blanks; "
            f"{_MAKE_ONE}"
        )
    return found
