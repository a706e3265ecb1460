"""The order, the errors and the timing of items that a thread computes."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from cairn.core.one_ahead import one_ahead


def test_one_ahead_computes_the_next_item_while_the_last_one_is_used() -> None:
    is_computed = [threading.Event() for _ in range(3)]

    def items() -> Iterator[int]:
        for i, event in enumerate(is_computed):
            event.set()
            yield i

    for i in one_ahead(items()):
        assert all(event.wait(10) for event in is_computed[: i + 2])
        assert not any(event.is_set() for event in is_computed[i + 2 :])


def test_one_ahead_passes_errors_and_nothing_on() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("second")

    found = one_ahead(broken())
    assert next(found) == 1
    with pytest.raises(ValueError, match="second"):
        next(found)
    assert list(one_ahead(iter([]))) == []
