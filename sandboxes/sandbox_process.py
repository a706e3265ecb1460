"""The process that a sandbox session talks to: what every kind of sandbox starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.records import LimitName


class SandboxLost(SandboxFailure):
    """A place's supervisor ended, stopped answering, or sent an invalid message."""


class SandboxProcess(Protocol):
    """Where a supervisor runs: how to reach it, what it has used, and how to end it."""

    home: str  # the work folder, as programs see it
    env: Mapping[str, str]  # that every program gets here besides PATH, HOME and the like

    def request(self, message: Mapping[str, Any], blob: bytes, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Send a request and return the answer.

        Raises:
            SandboxLost: it did not come, or is invalid.
            SandboxFailure: the place cannot be reached.
        """

    def limit_hit(self) -> LimitName | None:
        """Return which limit control groups have enforced since the last call; None: none, or there are none."""

    def close(self) -> None:
        """End it and everything that runs in it."""
