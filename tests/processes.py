"""Waiting for the end of processes."""

from __future__ import annotations

import os
import select


def has_ended(pid: int, timeout_s: float = 60) -> bool:
    """Wait until a process has ended with all its threads. Return whether it has; a process that is not reaped has."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        waiting = select.poll()  # unlike `select`, it takes descriptors above 1023
        waiting.register(watched, select.POLLIN)
        return bool(waiting.poll(timeout_s * 1000))
    finally:
        os.close(watched)
