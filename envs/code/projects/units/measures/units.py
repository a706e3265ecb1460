"""Reads and writes unit texts."""

import re

from measures.catalogue import BASES, NONE, UNITS, combined, raised
from measures.errors import UnitFault

_FACTOR = re.compile(r"([A-Za-z]+|1)(?:\^(-?\d+))?")


def parse_unit(text):
    """Return (factor, dimensions) of a unit text."""
    factor, dimensions = 1, NONE
    sign = 1
    for part in re.split(r"([*/])", text):
        if part in ("*", "/"):
            sign = 1 if part == "*" else -1
            continue
        one_factor, one_dimensions = _single(part.strip())
        factor = factor * one_factor if sign == 1 else factor / one_factor
        dimensions = combined(dimensions, one_dimensions, sign)
    return factor, dimensions


def write_unit(dimensions):
    """Return the text of dimensions in base units."""
    parts = []
    for name, power in zip(BASES, dimensions, strict=True):
        if power == 1:
            parts.append(name)
        elif power != 0:
            parts.append(f"{name}^{power}")
    return "*".join(parts)


def _single(part):
    match = _FACTOR.fullmatch(part)
    if not match:
        raise UnitFault(part)
    name, power = match.group(1), int(match.group(2) or 1)
    if name == "1":
        return 1, NONE
    if name not in UNITS:
        raise UnitFault(part)
    factor, dimensions = UNITS[name]
    return factor**power, raised(dimensions, power)
