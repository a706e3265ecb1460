"""HTTP connections with limits that hold before a client has shown the token: on time, size and number.

A connection must send the head of a request within some seconds, of its first and of each later request. When there are
too many connections, the one that has waited longest without a whole head is closed for the new one; where none waits,
the new one is refused. So clients that never finish, or that open thousands of connections, keep nobody else out.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0  # until the head of a request must be complete
HEAD_BYTES = 16 << 10
BACKLOG = 32  # connections that asyncio accepts before it handles the first of them: these take descriptors too
_OF_A_SESSION = 8  # descriptors that a session takes, at most
_RESERVE = 64  # descriptors of the process itself
_LEAST, _BESIDE_SESSIONS = 16, 64  # connections
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class Waiting:
    """The connections of a server that have not sent a whole head, oldest first."""

    def __init__(self, most: int, head_s: float = HEAD_S) -> None:
        """`most`: connections at once."""
        self.most, self.head_s = most, head_s
        self.connections: dict[BoundedProtocol, None] = {}


class BoundedProtocol(H11Protocol):
    """One connection."""

    def __init__(self, waiting: Waiting, **given: Any) -> None:  # Any: as uvicorn gives it
        super().__init__(**given)
        self._waiting = waiting
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base class
        """Make room for a connection, or refuse it."""
        super().connection_made(transport)
        if len(self.connections) > self._waiting.most:
            oldest = next(iter(self._waiting.connections), None)
            if oldest is None:
                transport.write(_FULL)
                transport.close()
                return
            oldest.end()
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Process bytes from the client."""
        super().data_received(data)
        if self.transport.is_closing() or self._has_request:
            self._stop_waiting()
        elif self._deadline is None:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def end(self) -> None:
        """Close the connection at once, also in the middle of a request."""
        self._stop_waiting()
        self.connections.discard(self)  # it counts no longer
        self.transport.abort()

    @property
    def _has_request(self) -> bool:
        """Whether the head of a request is complete and its response is not."""
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_head(self) -> None:
        self._waiting.connections[self] = None
        self._deadline = self.loop.call_later(self._waiting.head_s, self.end)

    def _stop_waiting(self) -> None:
        self._waiting.connections.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def most_connections(sessions: int) -> int:
    """Return how many connections a server with this many sessions accepts at once.

    The limit on descriptors is raised as far as it may be; what sessions need of them is left to these.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    free = hard - _RESERVE - 2 * BACKLOG - _OF_A_SESSION * sessions
    return max(_LEAST, min(4 * sessions + _BESIDE_SESSIONS, free))
