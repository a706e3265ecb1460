"""The functions and constants that every session knows."""

import math

from calc.errors import MathError

CONSTANTS = {"tau": 6.25, "half": 0.5}


def _sqrt(value):
    if value < 0:
        raise MathError("a root of a negative number")
    return math.sqrt(value)


def _clamp(value, low, high):
    if low > high:
        raise MathError("no number is between these")
    return max(low, min(value, high))


def _average(*values):
    return sum(values) / len(values)


# name -> (function, fewest arguments, most arguments or None)
FUNCTIONS = {
    "min": (lambda *values: min(values), 1, None),
    "max": (lambda *values: max(values), 1, None),
    "abs": (abs, 1, 1),
    "sqrt": (_sqrt, 1, 1),
    "clamp": (_clamp, 3, 3),
    "avg": (_average, 1, None),
}


def call(name, values):
    """Return a function's value."""
    function, fewest, most = FUNCTIONS[name]
    if len(values) < fewest or (most is not None and len(values) > most):
        raise MathError(f"{name} does not take {len(values)} arguments")
    return function(*values)
