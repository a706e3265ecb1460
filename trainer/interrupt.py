"""Signals during training: Ctrl-C once to stop at the next point that can be saved, twice to stop at once.

SIGTERM, which schedulers and containers send, asks for the same as the first Ctrl-C. Only the main thread receives
signals; elsewhere nothing changes.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """Handles SIGINT and SIGTERM for as long as it is entered; the second SIGINT raises KeyboardInterrupt."""

    def __init__(self, on_note: Callable[[str], None]) -> None:
        """`on_note` tells the user what will happen."""
        self.signal = ""  # name of the first signal; "": none came
        self._on_note = on_note
        self._before: dict[signal.Signals, Any] = {}  # Any: handlers, as Python keeps them

    @property
    def is_asked(self) -> bool:
        """Whether the run is to stop."""
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
