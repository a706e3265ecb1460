"""The process that a sandbox session talks to; every kind of sandbox starts one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.records import LimitName


class SandboxLost(SandboxFailure):
    """A sandbox's supervisor ended, stopped answering, or sent an invalid message."""


class SandboxProcess(Protocol):
    """A process with a supervisor: requests, enforced limits, and its end."""

    home: str  # the work folder, as seen by programs
    env: Mapping[str, str]  # variables that every program gets here besides PATH, HOME and the like

    def request(self, message: Mapping[str, Any], blob: bytes, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Send a request and return the answer.

        Raises:
            SandboxLost: the answer did not arrive, or is invalid.
            SandboxFailure: the sandbox cannot be reached.
        """

    def limit_hit(self) -> LimitName | None:
        """Return the limit that control groups enforced since the last call, or None."""

    def close(self) -> None:
        """End it and all processes in it."""
