"""Converts values, and picks units for them."""

import itertools
import math

from measures.errors import DimensionFault
from measures.quantity import quantity
from measures.units import parse_unit

_TEMPERATURES = ("C", "F", "K")
_ZERO = 273.15


def convert(value, from_unit, to_unit):
    """Return a value in another unit."""
    if from_unit in _TEMPERATURES or to_unit in _TEMPERATURES:
        if from_unit not in _TEMPERATURES or to_unit not in _TEMPERATURES:
            raise DimensionFault(f"{from_unit} to {to_unit}")
        return _from_celsius(_to_celsius(value, from_unit), to_unit)
    factor, dimensions = parse_unit(from_unit)
    to_factor, to_dimensions = parse_unit(to_unit)
    if dimensions != to_dimensions:
        raise DimensionFault(f"{from_unit} to {to_unit}")
    return value * factor / to_factor


def best(text, units):
    """Return the unit in which a quantity is smallest but at least 1."""
    measured = quantity(text)
    sizes = [(abs(measured.to(unit)), unit) for unit in units]
    large = [size for size in sizes if size[0] >= 1]
    if large:
        return min(large, key=lambda size: size[0])[1]
    return max(sizes, key=lambda size: size[0])[1]


def split(text, units):
    """Return a quantity in whole numbers of units, the largest first."""
    factors = [parse_unit(unit)[0] for unit in units]
    if any(factor <= following for factor, following in itertools.pairwise(factors)):
        raise ValueError("units in falling order expected")
    smallest = quantity(text).to(units[-1])
    if smallest < 0:
        raise ValueError("a negative quantity cannot be split")
    left = math.floor(smallest + 0.5)
    parts = []
    for factor in factors:
        size = round(factor / factors[-1])
        parts.append(left // size)
        left %= size
    return parts


def _to_celsius(value, unit):
    if unit == "F":
        value = (value - 32) * 5 / 9
    elif unit == "K":
        value = value - _ZERO
    if value < -_ZERO:
        raise ValueError("below absolute zero")
    return value


def _from_celsius(value, unit):
    if unit == "F":
        return value * 9 / 5 + 32
    if unit == "K":
        return value + _ZERO
    return value
