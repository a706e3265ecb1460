"""Sessions kept warm: leased to one episode after another, emptied in between, replaced where that fails.

A session that comes back is reset: all programs end, all files go, and nothing else of a place can be written. So the
next lease finds what a new session has.
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
        """Start none yet; `keep`: how many may wait for a lease."""
        self._sandbox, self._limits, self._keep = sandbox, limits or Limits(), keep
        self._idle: list[Session] = []
        self._lock = threading.Lock()
        self._is_closed = False
        self.discarded = 0  # sessions that could not be emptied

    def warm(self, count: int) -> None:
        """Start sessions until so many wait."""
        while len(self._idle) < min(count, self._keep):
            self._put(self._sandbox.session(self._limits))

    @contextlib.contextmanager
    def lease(self) -> Iterator[Session]:
        """Give an empty session; it comes back when the block ends."""
        session = self.take()
        try:
            yield session
        finally:
            self.give_back(session)

    def take(self) -> Session:
        """Return an empty session that nobody else has."""
        with self._lock:
            self._idle = [session for session in self._idle if not session.is_inherited]
            session = self._idle.pop() if self._idle else None
        return session or self._sandbox.session(self._limits)

    def give_back(self, session: Session) -> None:
        """Empty a session and keep it for the next; one that cannot be emptied is ended."""
        try:
            session.reset()
        except BaseException as error:  # an interrupt too: the session is not left behind
            self.discarded += 1
            session.close()
            if isinstance(error, CairnError):  # something is left, the supervisor failed, or the session was closed
                return
            raise
        self._put(session)

    def close(self) -> None:
        """End all sessions that wait; those that are leased end when they come back."""
        with self._lock:
            self._is_closed = True
        self.close_idle()

    def close_idle(self) -> None:
        """End the sessions that wait, and start new ones when they are needed."""
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
