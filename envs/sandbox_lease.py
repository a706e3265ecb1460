"""Sessions of sandboxes for environments whose actions are programs: shared, warm, and empty for each user."""

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

_FIRST = threading.Lock()  # environments in several threads make what they share once
_POOLS: dict[tuple[str, str, Limits], SessionPool] = {}  # by kind, settings as JSON, and limits


def _forget_inherited_pools() -> None:
    """In a fork, begin without sessions: those of the parent are not the fork's."""
    global _FIRST
    _FIRST = threading.Lock()
    _POOLS.clear()


os.register_at_fork(after_in_child=_forget_inherited_pools)


def shared_pool(sandbox: str, settings: Mapping[str, Any], limits: Limits) -> SessionPool:  # Any: each kind has its own
    """Return the sessions of a kind with these settings that all environments of this process share."""
    key = (sandbox, json.dumps(settings, sort_keys=True), limits)
    with _FIRST:
        if key not in _POOLS:
            _POOLS[key] = SessionPool(new_sandbox(sandbox, **settings), limits)
        return _POOLS[key]


def close_idle_sessions() -> None:
    """Close the sessions of this process that wait for a lease; others are started when they are needed."""
    with _FIRST:
        pools = list(_POOLS.values())
    for pool in pools:
        pool.close_idle()


class LeasedSession:
    """A session of such a pool, taken when it is first needed and given back with its owner."""

    def __init__(self, sandbox: str, settings: Mapping[str, Any], limits: Limits) -> None:  # Any: each kind has its own
        self._wanted = (sandbox, settings, limits)
        self.session: Session | None = None

    def emptied(self) -> Session:
        """Return the session, with nothing left of what ran in it.

        Raises:
            SandboxFailure: none could be started.
        """
        if self.session is not None:
            try:
                self.session.reset()
                return self.session
            except CairnError:  # its supervisor failed, or a program left a folder that cannot be read: take another
                self.close()
        pool = shared_pool(*self._wanted)
        self.session = pool.take()
        self._release = weakref.finalize(self, pool.give_back, self.session)
        return self.session

    def close(self) -> None:
        """Give the session back."""
        if self.session is not None:
            self._release()
            self.session = None
