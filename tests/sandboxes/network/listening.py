"""Sandboxes with a network, and reachable servers for their programs: HTTP servers on the host's loopback address."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cairn.sandboxes.base import Limits, Sandbox, Session
from cairn.sandboxes.records import Result
from cairn.sandboxes.registry import new_sandbox
from tests.sandboxes.usable import usable

_WAIT_S = 20.0
NEVER = "192.0.2.1:443"  # an address that is set apart for examples
LIMITS = Limits(wall_s=20)
# Functions for the programs below: `get` by the variables, as pip and requests do; `way` opens one for any bytes.
PRELUDE = """
import socket, sys, urllib.error, urllib.request
def get(url, data=None):
    try:
        with urllib.request.urlopen(url, data, timeout=15) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.reason}: {error.read().decode().strip()}"
def way(line):
    connection = socket.create_connection(("127.0.0.1", 3128), 15)
    connection.sendall(f"{line} HTTP/1.1\\r\\n\\r\\n".encode())
    return connection
def opened(target):
    connection = way(f"CONNECT {target}")
    return connection, connection.recv(4096).decode()
"""


@dataclass
class Listener:
    """A running server: `/held` lasts until the connection ends, `/long` returns a MiB, all else its body."""

    port: int
    visits: list[str] = field(default_factory=list)  # connections and requests, in the order they came
    ended: list[str] = field(default_factory=list)  # connections held

    @property
    def address(self) -> str:
        """Host and port, as in a list."""
        return f"127.0.0.1:{self.port}"


@contextmanager
def listener() -> Iterator[Listener]:
    """Start a server; it has ended when this ends."""

    class Handler(BaseHTTPRequestHandler):
        def setup(self) -> None:
            found.visits.append("connection")
            super().setup()

        def do_GET(self) -> None:
            found.visits.append(f"{self.path} {self.headers['Host']} {self.headers['Connection']}")
            if self.path == "/held":
                self.wfile.write(b"held")
                self.rfile.read(1)
                found.ended.append(self.path)
                return
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            self._say(bytes(1 << 20) if self.path == "/long" else b"body of " + self.path.encode() + body)

        do_POST = do_GET

        def _say(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = Listener(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for a condition, as long as a slow machine may need.

    Raises:
        AssertionError: it does not come.
    """
    until = time.monotonic() + _WAIT_S
    while not is_so():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)


def networked(*entries: str) -> Sandbox:
    """Return a sandbox whose programs may reach these."""
    usable("bubblewrap")
    return new_sandbox("bubblewrap", network=entries)


def ran(session: Session, program: str) -> Result:
    """Run a program that knows the functions above, and must not fail."""
    result = session.run_python(PRELUDE + program)
    assert result.is_ok, result.output
    return result
