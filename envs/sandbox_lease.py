"""Sandbox sessions for environments whose actions are programs: shared, warm, and clean."""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Mapping
from typing import Any

from cairn.core.errors import CairnError
from cairn.sandboxes.base import Limits, Session
from cairn.sandboxes.pool import SessionPool
from cairn.sandboxes.registry import new_sandbox

_FIRST = threading.Lock()  # environments in several threads create each shared pool once
_POOLS: dict[tuple[str, str, Limits], SessionPool] = {}  # by kind, settings as JSON, and limits


def _forget_inherited_pools() -> None:
    """In a forked process, start without sessions: they belong to the parent."""
    global _FIRST
    _FIRST = threading.Lock()
    _POOLS.clear()


os.register_at_fork(after_in_child=_forget_inherited_pools)


def shared_pool(sandbox: str, settings: Mapping[str, Any], limits: Limits) -> SessionPool:  # Any: depends on the kind
    """Return this process's shared pool of sessions of a kind with these settings."""
    key = (sandbox, json.dumps(settings, sort_keys=True), limits)
    with _FIRST:
        if key not in _POOLS:
            _POOLS[key] = SessionPool(new_sandbox(sandbox, **settings), limits)
        return _POOLS[key]


def close_idle_sessions() -> None:
    """Close the process's idle sessions; new ones start on demand."""
    with _FIRST:
        pools = list(_POOLS.values())
    for pool in pools:
        pool.close_idle()


class LeasedSession:
    """A session of a shared pool, leased on first use and returned when its owner is deleted."""

    def __init__(self, sandbox: str, settings: Mapping[str, Any], limits: Limits) -> None:  # Any: depends on the kind
        self._wanted = (sandbox, settings, limits)
        self.session: Session | None = None

    def emptied(self) -> Session:
        """Return the session after a reset that removes all traces of earlier programs.

        Raises:
            SandboxFailure: no session could start.
        """
        if self.session is not None:
            try:
                self.session.reset()
                return self.session
            except CairnError:  # its supervisor failed, or a program left an unreadable folder: take another session
                self.close()
        pool = shared_pool(*self._wanted)
        self.session = pool.take()
        self._release = weakref.finalize(self, pool.give_back, self.session)
        return self.session

    def close(self) -> None:
        """Return the session to its pool."""
        if self.session is not None:
            self._release()
            self.session = None
