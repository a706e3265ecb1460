"""Sessions kept warm: leased to one episode after another, emptied in between, replaced where that fails.

A session that comes back is reset: all programs end, all files go, and nothing else of a place can be written. So the
next lease finds what a new session has. The pool also says how many programs may run at once, and lets those who wait
have their turns one after another, so that an episode with much to run holds up no other.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Iterator

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.base import Limits, Sandbox, Session


class Turns:
    """Lets at most so many through at once; among those who wait, one of each owner in turn."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: dict[object, deque[threading.Event]] = {}  # by owner, whose turn comes first
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def turn(self, owner: object) -> Iterator[None]:
        """Wait for a turn and hold it."""
        with self._lock:
            event = None
            if self._free > 0:
                self._free -= 1
            else:
                event = threading.Event()
                self._waiting.setdefault(owner, deque()).append(event)
        if event is not None:
            event.wait()
        try:
            yield
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            if not self._waiting:
                self._free += 1
                return
            owner = next(iter(self._waiting))
            queue = self._waiting.pop(owner)
            queue.popleft().set()
            if queue:
                self._waiting[owner] = queue  # behind all others


class Pool:
    """Sessions of one sandbox with the same limits."""

    def __init__(
        self, sandbox: Sandbox, limits: Limits | None = None, *, keep: int = 8, at_once: int | None = None
    ) -> None:
        """Start none yet; `keep`: how many may wait for a lease; `at_once`: programs at once, None: as many as come."""
        self._sandbox, self._limits, self._keep = sandbox, limits or Limits(), keep
        self._idle: list[Session] = []
        self._lock = threading.Lock()
        self._is_closed = False
        self.turns = Turns(at_once or 1 << 30)
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
            session = self._idle.pop() if self._idle else None
        return session or self._sandbox.session(self._limits)

    def give_back(self, session: Session) -> None:
        """Empty a session and keep it for the next; one that cannot be emptied is ended."""
        try:
            session.reset()
        except SandboxFailure:
            self.discarded += 1
            session.close()
            return
        self._put(session)

    def close(self) -> None:
        """End all sessions that wait; those that are leased end when they come back."""
        with self._lock:
            self._is_closed, idle, self._idle = True, self._idle, []
        for session in idle:
            session.close()

    def _put(self, session: Session) -> None:
        with self._lock:
            if not self._is_closed and len(self._idle) < self._keep:
                self._idle.append(session)
                return
        session.close()
