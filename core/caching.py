"""Caches of methods that do not keep their object alive.

`functools.lru_cache` of a bound method makes a reference cycle of the object and its cache. Such an object, with the
files that it has mapped, is freed only by the cyclic garbage collector, possibly after thousands of others were opened.
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
) -> _lru_cache_wrapper[T]:  # like lru_cache, which has no argument types either
    """Return a bound method that keeps its last `maxsize` results (None: all).

    Store it as an attribute of the method's own object.
    """
    reference = WeakMethod(method)

    def called(*args: Any, **kwargs: Any) -> T:  # Any: the method's
        found = reference()
        assert found is not None  # the caller holds the object
        return found(*args, **kwargs)

    return lru_cache(maxsize=maxsize)(called)
