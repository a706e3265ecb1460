"""A pool of warm sessions: leased to one episode after another, reset in between.

A returned session is reset: all programs end, all files are removed, and programs can write nowhere else. So the next
lease starts like a new session. A session that cannot be reset is replaced.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from cairn.core.errors import CairnError
from cairn.sandboxes.base import Limits, Sandbox, Session


class SessionPool:
    """Sessions of one sandbox with the same limits."""

    def __init__(self, sandbox: Sandbox, limits: Limits | None = None, *, keep: int = 8) -> None:
        """Create an empty pool; `keep`: the maximum number of idle sessions."""
        self._sandbox, self._limits, self._keep = sandbox, limits or Limits(), keep
        self._idle: list[Session] = []
        self._lock = threading.Lock()
        self._is_closed = False
        self.discarded = 0  # sessions that could not be reset

    def warm(self, count: int) -> None:
        """Start sessions until `count` are idle."""
        while len(self._idle) < min(count, self._keep):
            self._put(self._sandbox.session(self._limits))

    @contextlib.contextmanager
    def lease(self) -> Iterator[Session]:
        """Lease an empty session; it returns to the pool when the block ends."""
        session = self.take()
        try:
            yield session
        finally:
            self.give_back(session)

    def take(self) -> Session:
        """Return an empty session for exclusive use."""
        with self._lock:
            self._idle = [session for session in self._idle if not session.is_inherited]
            session = self._idle.pop() if self._idle else None
        return session or self._sandbox.session(self._limits)

    def give_back(self, session: Session) -> None:
        """Reset a session and keep it for the next lease; close it if the reset fails."""
        try:
            session.reset()
        except BaseException as error:  # also on an interrupt: the session must not be left behind
            self.discarded += 1
            session.close()
            if isinstance(error, CairnError):  # something is left, the supervisor failed, or the session was closed
                return
            raise
        self._put(session)

    def close(self) -> None:
        """Close all idle sessions; leased sessions are closed when they are returned."""
        with self._lock:
            self._is_closed = True
        self.close_idle()

    def close_idle(self) -> None:
        """Close the idle sessions; new ones start when needed."""
        with self._lock:
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()

    def _put(self, session: Session) -> None:
        with self._lock:
            if not self._is_closed and len(self._idle) < self._keep:
                self._idle.append(session)
                return
        session.close()
