"""Starts model servers for tests, scripts them, and reads their received requests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx

from tests.reserved_port import reserve_port

_PROGRAM = Path(__file__).with_name("model_server.py")
_START_S = 60.0


class Server:
    """A process on a port of its own; it can be killed and started again."""

    def __init__(self) -> None:
        self._holder = reserve_port()  # also while the server is down
        self.port = self._holder.getsockname()[1]
        self.start()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, str(_PROGRAM), str(self.port)])
        deadline = time.monotonic() + _START_S
        while True:
            try:
                self.script()
                return
            except httpx.TransportError:
                assert self.process.poll() is None, "the server has ended"
                assert time.monotonic() < deadline, "the server does not start"
                time.sleep(0.05)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        """End the process and free its port."""
        self.kill()
        self._holder.close()

    def script(self, acts: Sequence[dict[str, Any]] = ()) -> None:
        """Set the acts for the next requests, release held requests, and forget the received requests."""
        httpx.post(f"{self.root}/script", json=list(acts)).raise_for_status()

    def release(self) -> None:
        """Answer the held requests, and hold no further ones."""
        httpx.post(f"{self.root}/release").raise_for_status()

    def wait_for(self, count: int) -> None:
        """Wait until the server has received this many requests since the last script."""
        deadline = time.monotonic() + _START_S
        while len(self.seen()["requests"]) < count:
            assert time.monotonic() < deadline, f"the server has not received {count} requests"
            time.sleep(0.01)

    def times(self) -> list[float]:
        """Return when each request arrived, by the server's clock in seconds."""
        return [request["time"] for request in self.seen()["requests"]]

    def seen(self) -> dict[str, Any]:
        found: dict[str, Any] = httpx.get(f"{self.root}/seen").json()
        return found

    def bodies(self) -> list[dict[str, Any]]:
        return [request["body"] for request in self.seen()["requests"]]


@contextmanager
def running() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.close()
