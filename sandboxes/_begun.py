"""Work that goes on whether or not anybody waits for it: what it raises is no fault of the event loop then."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def begun(work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:  # Any: what coroutines take
    """Have something begun that nobody may wait for in the end."""
    future = asyncio.ensure_future(work)
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future
