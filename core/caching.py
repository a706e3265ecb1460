"""Caches of methods that do not keep their object alive.

`functools.lru_cache` of a bound method makes a cycle of the object and its cache. Such an object, with the files that
it has mapped, stays until Python looks for cycles, which may be after thousands of others were opened.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakMethod

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")


def cached_method(
    method: Callable[..., T], maxsize: int | None
) -> _lru_cache_wrapper[T]:  # as lru_cache, which has no types of arguments either
    """Return a bound method that keeps its last `maxsize` results (None: all), for an attribute of its own object."""
    reference = WeakMethod(method)

    def called(*args: Any, **kwargs: Any) -> T:  # Any: the method's
        found = reference()
        assert found is not None  # whoever calls holds the object
        return found(*args, **kwargs)

    return lru_cache(maxsize=maxsize)(called)
