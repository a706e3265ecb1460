"""Iteration whose next item is computed in a thread while the last one is used.

The learner prepares batches on the processor in this way while a device computes. Items keep their order, and an error
of the iterator is raised where its item would have been.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

T = TypeVar("T")


def one_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items; each is computed while the one before is used.

    Raises:
        Exception: whatever the iterator raises.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="one-ahead") as pool:
        nothing = object()
        following = pool.submit(next, items, nothing)
        while (item := following.result()) is not nothing:
            following = pool.submit(next, items, nothing)
            yield cast(T, item)
