"""An asyncio event loop in its own thread, and tasks whose result may be ignored."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class EventLoopThread:
    """Runs coroutines from any thread."""

    def __init__(self, name: str) -> None:
        """Start the thread; it is a daemon and ends with the process."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:  # Any: what coroutines send and take
        """Run a coroutine and return its result.

        Raises:
            TimeoutError: it took too long and was cancelled.
        """
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_s)
        except BaseException:  # also on an interrupt: nothing reads the result; raised again
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def begun(work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:  # Any: what coroutines send
    """Start a task whose result or exception may be ignored."""
    future = asyncio.ensure_future(work)
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future
