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
        return bool(select.select([watched], [], [], timeout_s)[0])
    finally:
        os.close(watched)
