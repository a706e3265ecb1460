"""A sandbox process whose programs reach only the addresses of a list, through a gateway."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, Protocol

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.destinations import AllowList
from cairn.sandboxes.network.gateway import Gateway
from cairn.sandboxes.records import LimitName
from cairn.sandboxes.sandbox_process import SandboxProcess

_PORT = 3128  # in the sandbox's own network, where it is free
_PROXY = f"http://127.0.0.1:{_PORT}"
_VARIABLES = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _PROXY)


class ListeningPlace(SandboxProcess, Protocol):
    """A sandbox process with its own network, in which the host can listen."""

    def listener(self, port: int) -> socket.socket:
        """Return a socket that listens on its loopback address.

        Called once, before any program runs.

        Raises:
            SandboxFailure: the supervisor cannot listen.
        """


class NetworkedPlace:
    """A sandbox process with its own network, and its gateway."""

    def __init__(self, place: ListeningPlace, allowed: AllowList) -> None:
        """Start the gateway; closing this closes `place` too.

        Raises:
            SandboxFailure: the supervisor cannot listen.
        """
        self._place = place
        try:
            self._gateway = Gateway(place.listener(_PORT), allowed)
        except SandboxFailure:
            place.close()
            raise
        self.home = place.home
        self.env: Mapping[str, str] = {**place.env, **_VARIABLES, "no_proxy": "", "NO_PROXY": ""}
        self._stays_open = False  # whether a program stays open between two requests

    def request(self, message: Mapping[str, Any], blob: bytes, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Send a request and return the answer with the refused connections; see `SandboxProcess`."""
        answer, data = self._place.request(message, blob, timeout_s)
        do, has_failed = message["do"], "error" in answer
        if do in ("open", "shut", "reset") or (do == "talk" and answer.get("ended")):
            self._stays_open = do == "open" and not has_failed
        if not self._stays_open and do in ("run", "talk", "shut", "reset"):
            self._gateway.end_connections()
        if do == "reset":
            self._gateway.begin_anew()
        if do in ("run", "talk"):
            answer["num_refused"], answer["refused"] = self._gateway.refused()
        return answer, data

    def limit_hit(self) -> LimitName | None:
        """Return the limit that the control group enforced since the last call."""
        return self._place.limit_hit()

    def close(self) -> None:
        """End the sandbox, then its gateway."""
        try:
            self._place.close()
        finally:
            self._gateway.close()
