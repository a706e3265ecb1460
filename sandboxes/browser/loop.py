"""An asyncio loop in its own thread, for callers in other threads, and work that nobody may wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class EventLoopThread:
    """Runs coroutines that any thread hands in."""

    def __init__(self, name: str) -> None:
        """Start the thread; it ends with the process."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:  # Any: what coroutines send and take
        """Return what a coroutine returns.

        Raises:
            TimeoutError: it took too long; it is cancelled.
        """
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_s)
        except BaseException:  # an interrupt too: nothing reads its result; raised again
            future.cancel()
            raise

    def close(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def begun(work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:  # Any: what coroutines take
    """Have something begun that nobody may wait for in the end."""
    future = asyncio.ensure_future(work)
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future
