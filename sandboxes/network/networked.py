"""A place whose programs reach the addresses of a list, and no others, through a gateway."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, Protocol

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.destinations import AllowList
from cairn.sandboxes.network.gateway import Gateway
from cairn.sandboxes.records import LimitName
from cairn.sandboxes.sandbox_process import SandboxProcess

_PORT = 3128  # in the place's own network: no other has it
_PROXY = f"http://127.0.0.1:{_PORT}"
_VARIABLES = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _PROXY)


class ListeningPlace(SandboxProcess, Protocol):
    """A place with a network of its own, in which the host can listen."""

    def listener(self, port: int) -> socket.socket:
        """Return a socket that listens there on the loopback address; asked for once, before any program runs.

        Raises:
            SandboxFailure: there is none.
        """


class NetworkedPlace:
    """A place with a network of its own, and the gateway out of it."""

    def __init__(self, place: ListeningPlace, allowed: AllowList) -> None:
        """Open the way; `place` is closed with this.

        Raises:
            SandboxFailure: nothing could listen in it.
        """
        self._place = place
        try:
            self._gateway = Gateway(place.listener(_PORT), allowed)
        except SandboxFailure:
            place.close()
            raise
        self.home = place.home
        self.env: Mapping[str, str] = {**place.env, **_VARIABLES, "no_proxy": "", "NO_PROXY": ""}
        self._stays_open = False  # whether a program does, between two requests

    def request(self, message: Mapping[str, Any], blob: bytes, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Send a request and return the answer, to which what was refused is added; see `base.Place`."""
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
        """Return what the control group has enforced since the last call."""
        return self._place.limit_hit()

    def close(self) -> None:
        """End everything in the place, then the way out of it."""
        try:
            self._place.close()
        finally:
            self._gateway.close()
