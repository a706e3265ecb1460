"""Interrupts of the main thread, as Ctrl-C raises them, at a chosen moment."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

import pytest


@contextlib.contextmanager
def interrupted_when(condition: Callable[[], bool]) -> Iterator[None]:
    """Raise KeyboardInterrupt in the block once the condition holds, and expect that it passes out of the block."""
    main, ended = threading.main_thread().ident, threading.Event()
    assert main is not None

    def watch() -> None:
        while not ended.wait(0.002):
            if condition():
                signal.pthread_kill(main, signal.SIGINT)
                return

    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        ended.set()
        watcher.join()
        signal.signal(signal.SIGINT, previous)
