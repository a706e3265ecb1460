"""Converts plain values to JSON and back, exactly.

This is the data that passes between the tests and the tested code. A value of a builtin type, or of a type made of
those, passes as data; an instance of a subclass passes as its base type. Every other object stays in its process and
passes as a number (`refer`). `decode` reads untrusted data: it builds values of the exact types below, runs no code,
and raises `Malformed` for data that `encode` does not write or that would be slow to process.
"""

import base64
import builtins
import collections
import datetime
import decimal
import fractions

_PARTS = {tuple: "tuple", set: "set", frozenset: "frozenset", collections.deque: "deque"}
_TEXTS = {decimal.Decimal: "decimal", complex: "complex"}
_TIMES = {datetime.datetime: "datetime", datetime.date: "date", datetime.time: "time"}
_TYPES = {name: kind for kind, name in [*_PARTS.items(), *_TEXTS.items(), *_TIMES.items()]}
_ERRORS = (n for n, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException))
_TYPE_NAMES = frozenset({
    "bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "object", "range", "set",
    "str", "tuple", "type", *_ERRORS,
})  # fmt: skip
_MOST_DIGITS = 4000  # of an integer in decimal; longer ones pass in base 16
_MOST_TEXT = 5000  # characters of a number or a time: reading longer ones takes quadratic time
_MOST_EXPONENT = 10_000  # of a decimal: Python's arithmetic expands larger ones to all their digits
_LONGEST_RANGE = 10_000_000
_DEEPEST = 200


class Malformed(BaseException):  # no test catches it by `except Exception` or `assertRaises`
    """Data that `encode` does not write, or that exceed the limits above."""


def encode(value, refer, depth=0):
    """Return JSON for a value; `refer(object)` returns the JSON of objects that are not plain."""
    if depth > _DEEPEST:
        raise ValueError("a value that is nested too deeply")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < 10**_MOST_DIGITS else {"int": hex(value)}
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": base64.b64encode(bytes(value)).decode(), "is_array": isinstance(value, bytearray)}
    if isinstance(value, list):
        return [encode(item, refer, depth + 1) for item in list.__iter__(value)]
    if isinstance(value, dict):
        pairs = [[encode(k, refer, depth + 1), encode(v, refer, depth + 1)] for k, v in dict.items(value)]
        return {"dict": pairs, "is_counter": isinstance(value, collections.Counter)}
    for kind, name in _PARTS.items():
        if isinstance(value, kind):
            return {name: [encode(item, refer, depth + 1) for item in kind.__iter__(value)]}
    if isinstance(value, fractions.Fraction):
        return {"fraction": [encode(value.numerator, refer), encode(value.denominator, refer)]}
    for kind, name in _TEXTS.items():
        if isinstance(value, kind):
            return {name: kind.__str__(value)}
    for kind, name in _TIMES.items():
        if isinstance(value, kind):
            return {name: kind.isoformat(value)}
    if isinstance(value, datetime.timedelta):
        return {"seconds": [value.days, value.seconds, value.microseconds]}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, type) and value.__module__ == "builtins" and value.__name__ in _TYPE_NAMES:
        return {"builtin": value.__name__}
    return refer(value)


def decode(data, resolve):
    """Return the value; `resolve(object)` returns it for data that are not plain.

    Raises:
        Malformed: `encode` does not write such data, or they exceed the limits.
    """
    try:
        return _decoded(data, resolve)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise Malformed(f"malformed answer: {type(error).__name__}: {error}"[:300]) from None


def _decoded(data, resolve):
    if not isinstance(data, (list, dict)):
        return data
    if isinstance(data, list):
        return [_decoded(item, resolve) for item in data]
    name = next(iter(data), None)
    held = data.get(name)
    if name == "dict":
        pairs = {_decoded(k, resolve): _decoded(v, resolve) for k, v in held}
        return collections.Counter(pairs) if data["is_counter"] else pairs
    if name == "bytes":
        return (bytearray if data["is_array"] else bytes)(base64.b64decode(held))
    if name == "int":
        return int(held, 16)
    if name == "fraction":
        return fractions.Fraction(*map(_whole, (_decoded(part, resolve) for part in held)))
    if name == "seconds":
        return datetime.timedelta(*map(_whole, held))
    if name == "range":
        return _range(*map(_whole, held))
    if name == "builtin" and held in _TYPE_NAMES:
        return getattr(builtins, held)
    if name in _PARTS.values():
        return _TYPES[name](_decoded(held, resolve)) if isinstance(held, list) else _refuse(f"no {name}")
    if name in _TYPES:
        return _from_text(_TYPES[name], held)
    return resolve(data)


def _whole(value):
    return value if type(value) is int else _refuse("no whole number")


def _range(start, stop, step):
    found = range(start, stop, step)
    return found if found == range(0) or abs(stop - start) <= _LONGEST_RANGE else _refuse("too long a range")


def _from_text(kind, text):
    if not isinstance(text, str) or len(text) > _MOST_TEXT:
        raise ValueError(f"no text of a {kind.__name__}")
    if kind in _TIMES:
        return kind.fromisoformat(text)
    value = kind(text)
    if kind is decimal.Decimal and value.is_finite() and value and abs(value.adjusted()) > _MOST_EXPONENT:
        raise ValueError("a decimal with too large an exponent")
    return value


def _refuse(why):
    raise ValueError(why)
