"""Plain values as JSON and back, exactly: what passes between the tests and the code that is tested.

A value of a builtin type, or of a kind made of those, crosses as what it holds; an instance of a subclass as its base.
Everything else stays where it is and crosses as a number to ask about it by (`refer`). Nothing that arrives runs.
"""

import base64
import builtins
import collections
import datetime
import decimal
import fractions

_PARTS = {tuple: "tuple", set: "set", frozenset: "frozenset", collections.deque: "deque"}
_TEXTS = {decimal.Decimal: "decimal", fractions.Fraction: "fraction", complex: "complex"}
_TIMES = {datetime.datetime: "datetime", datetime.date: "date", datetime.time: "time"}
_MAKERS = {
    "tuple": tuple, "set": set, "frozenset": frozenset, "deque": collections.deque, "decimal": decimal.Decimal,
    "fraction": fractions.Fraction, "complex": complex, "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat, "time": datetime.time.fromisoformat,
}  # fmt: skip
_MOST_DIGITS = 4000  # of an integer in decimal; longer ones cross in base 16
_DEEPEST = 200


def encode(value, refer, depth=0):
    """Return JSON for a value; `refer(object)` gives it for what is not plain."""
    if depth > _DEEPEST:
        raise ValueError("a value that is nested too deeply to be told")
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
    if isinstance(value, type) and value.__module__ == "builtins" and getattr(builtins, value.__name__, None) is value:
        return {"builtin": value.__name__}
    return refer(value)


def decode(data, resolve):
    """Return the value; `resolve(object)` gives it for what is not plain."""
    if not isinstance(data, (list, dict)):
        return data
    if isinstance(data, list):
        return [decode(item, resolve) for item in data]
    name = next(iter(data))
    held = data[name]
    if name == "dict":
        pairs = {decode(k, resolve): decode(v, resolve) for k, v in held}
        return collections.Counter(pairs) if data["is_counter"] else pairs
    if name == "bytes":
        return (bytearray if data["is_array"] else bytes)(base64.b64decode(held))
    if name == "int":
        return int(held, 16)
    if name == "seconds":
        return datetime.timedelta(*held)
    if name == "range":
        return range(*held)
    if name == "builtin":
        return getattr(builtins, held)
    if name in _MAKERS:
        return _MAKERS[name](decode(held, resolve))
    return resolve(data)
