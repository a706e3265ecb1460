"""Ctrl-C during training: once to stop at the next point that can be saved, twice to stop at once.

Only the main thread hears signals; elsewhere nothing changes.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """Hears SIGINT for as long as it is entered; `is_asked` once it came. The second raises KeyboardInterrupt."""

    def __init__(self, on_note: Callable[[str], None]) -> None:
        """`on_note` tells the user what will happen."""
        self.is_asked = False
        self._on_note = on_note
        self._before: Any = None  # Any: a handler, as Python keeps them

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.is_asked:
            raise KeyboardInterrupt
        self.is_asked = True
        self._on_note("stopping at the next point that can be saved; Ctrl-C again stops now")
