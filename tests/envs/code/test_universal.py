"""Objects that agree with everything earn no more than the best constant, on every task with hidden tests."""

from __future__ import annotations

import contextlib
import io
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from cairn.core.errors import RewardFailure
from cairn.envs.code import tasks
from cairn.envs.code.judge import HiddenTests
from tests.envs.code.in_process import share
from tests.sampling import sample

_COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__", "__instancecheck__")
_RETURNING_SELF = (
    "__call__", "__getitem__", "__iter__", "__next__", "__neg__", "__pos__", "__abs__", "__invert__", "__round__",
    "__enter__", "__reversed__", "__missing__", "__floor__", "__ceil__", "__trunc__", "__await__", "__get__",
    *(f"__{side}{name}__" for side in ("", "r", "i") for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift",
        "divmod",
    )),
)  # fmt: skip


def _itself(self: object, *_: object, **__: object) -> object:
    return self


def _agrees(self: object, *_: object, **__: object) -> bool:
    return True


def _zero(self: object, *_: object, **__: object) -> int:
    return 0


def universal(base: type, *, difference: Callable[..., object] = _itself) -> object:
    """Return an object of a subclass of `base` that overloads every operator, comparison, attribute and call."""
    names: dict[str, Any] = {  # Any: a class's namespace
        **dict.fromkeys(_RETURNING_SELF, _itself), **dict.fromkeys(_COMPARISONS, _agrees),
        "__sub__": difference, "__rsub__": difference, "__hash__": _zero, "__len__": lambda self: 1,
        "__bool__": _agrees, "__int__": _zero, "__index__": _zero, "__float__": lambda self: 0.0,
        "__complex__": lambda self: 0j, "__setattr__": lambda self, *_: None, "__delattr__": lambda self, *_: None,
        "__setitem__": lambda self, *_: None, "__delitem__": lambda self, *_: None, "__exit__": lambda self, *_: True,
        "__format__": lambda self, _: "", "__str__": lambda self: "", "__repr__": lambda self: "",
        "__bytes__": lambda self: b"",
    }  # fmt: skip
    if base is object:
        names["__getattr__"] = lambda self, name: self
    return type("Universal", (base,), names)()


def functions(value: object) -> Callable[[str], object]:
    """Return a module's lookup of names: each name gives a function that returns the value, or raises it."""
    return lambda name: _returning(value)


def classes(value: object) -> Callable[[str], object]:
    """Return a module's lookup of names: each name gives a class whose methods all return the value, or raise it."""

    class Constant:
        def __init__(self, *_: object, **__: object) -> None: ...

        def __getattr__(self, name: str) -> Callable[..., object]:
            return _returning(value)

    return lambda name: Constant


def attributes(value: object) -> Callable[[str], object]:
    """Return a module's lookup of names: each name gives a class whose attributes all are the value."""

    class Constant:
        def __init__(self, *_: object, **__: object) -> None: ...

        def __getattr__(self, name: str) -> object:
            return value

    return lambda name: Constant


def _returning(value: object) -> Callable[..., object]:
    def function(*_: object, **__: object) -> object:
        if isinstance(value, type) and issubclass(value, BaseException):
            raise value("")
        return value

    return function


def itself(value: object) -> Callable[[str], object]:
    """Return a module's lookup of names: each name gives the value itself."""
    return lambda name: value


class Featureless:
    """An object without any operator."""

    def __call__(self, *_: object, **__: object) -> object:
        return self


class EveryError(ValueError, KeyError, IndexError, TypeError, AttributeError, ZeroDivisionError, RuntimeError):
    """Caught by nearly every `except`."""


_UNIVERSAL: list[object] = [
    universal(object), universal(object, difference=_zero), universal(int), universal(float), universal(str),
    universal(list), universal(dict), universal(tuple), universal(set), EveryError,
]  # fmt: skip
_CONSTANTS: list[object] = [
    None, True, False, 0, 1, -1, 2, 0.0, "", "a", b"", [], [0], [""], (), (0,), {}, set(), Featureless(), ValueError,
    KeyError, IndexError, TypeError, AttributeError, ZeroDivisionError, RuntimeError,
]  # fmt: skip


def _best(job: HiddenTests, values: list[object], enough: float) -> float:
    """Return the best score of the values, or the first that is enough."""
    best = 0.0
    shapes = (classes, attributes, itself) if job.style == "unittest" or not job.names else (functions,)
    for value in values:
        for shape in shapes:
            if best >= enough:
                return best
            module = types.ModuleType("solution")
            module.__getattr__ = shape(value)  # type: ignore[method-assign]  # PEP 562
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(RewardFailure):
                best = max(best, share(job, lambda module=module: module))  # type: ignore[misc]
    return best


_INPUTS = 3  # of MBPP+: its reference solutions take seconds for all


def _of_job(job: HiddenTests) -> list[object]:
    """Return the universal objects to try: only function tasks try those that cross as an empty builtin value."""
    return _UNIVERSAL if job.names and job.style != "unittest" else [*_UNIVERSAL[:3], EveryError]


def _jobs(kind: str, split: str, parts: int) -> Iterator[tuple[str, HiddenTests]]:
    ids = list(tasks.kind(kind).ids(split))[: 10 if kind == "repair" else None]  # of each project one
    for own in sample(ids, parts):
        job = tasks.problem(f"{kind}/{own}").job
        assert job is not None
        yield own, replace(job, inputs=job.inputs[:_INPUTS])


@pytest.mark.parametrize(("kind", "split", "parts"), [
    ("humaneval", "test", 8),
    *(pytest.param(name, split, 1, marks=pytest.mark.slow)  # 10 to 50 s each
      for name in tasks.names() if tasks.kind(name).has_tests for split in tasks.kind(name).splits),
])  # fmt: skip
def test_no_universal_object_earns_more_than_the_best_constant(kind: str, split: str, parts: int) -> None:
    """Of every `parts`-th task."""
    excess = {}
    for own, job in _jobs(kind, split, parts):
        if (gained := _best(job, _of_job(job), 1.0)) > (constant := _best(job, _CONSTANTS, gained)):
            excess[own] = (gained, constant)
    assert not excess
