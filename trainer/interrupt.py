"""Signals during training: Ctrl-C stops at the next point that can be saved, twice at once.

SIGTERM, which schedulers and containers send, acts like the first Ctrl-C. Only the main thread receives signals;
elsewhere nothing changes.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """Context manager that handles SIGINT and SIGTERM.

    The second SIGINT raises KeyboardInterrupt.
    """

    def __init__(self, on_note: Callable[[str], None]) -> None:
        """Store `on_note`, which receives a message for the user after a signal."""
        self.signal = ""  # name of the first signal; "": no signal yet
        self._on_note = on_note
        self._before: dict[signal.Signals, Any] = {}  # Any: signal handlers

    @property
    def is_asked(self) -> bool:
        """Whether a signal has asked the run to stop."""
        return bool(self.signal)

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = {each: signal.signal(each, self._handle) for each in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.is_asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        if self.is_asked:
            return
        self.signal = signal.Signals(number).name
        self._on_note("stopping at the next point that can be saved; Ctrl-C again stops now")
