"""Quantities: a value in base units, and its dimensions."""

import re

from measures.catalogue import NONE, combined, raised
from measures.errors import DimensionFault, MeasureFault
from measures.units import parse_unit, write_unit

_TEXT = re.compile(r"\s*(-?\d+(?:\.\d+)?)(?:\s+(\S.*?))?\s*")
_NEAR = 1e-9


def quantity(text):
    """Read a number and a unit."""
    match = _TEXT.fullmatch(text)
    if not match:
        raise MeasureFault(f"a number and a unit expected, got {text!r}")
    factor, dimensions = parse_unit(match.group(2)) if match.group(2) else (1, NONE)
    return Quantity(float(match.group(1)) * factor, dimensions)


class Quantity:
    """Never changes: calculating makes another one."""

    def __init__(self, value, dimensions):
        self.value = value
        self.dimensions = dimensions

    def to(self, unit):
        """Return the value in a unit."""
        factor, dimensions = parse_unit(unit)
        if dimensions != self.dimensions:
            raise DimensionFault(unit)
        return self.value / factor

    def plus(self, text):
        """Add a quantity."""
        return Quantity(self.value + self._alike(text).value, self.dimensions)

    def minus(self, text):
        """Take a quantity away."""
        return Quantity(self.value - self._alike(text).value, self.dimensions)

    def times(self, text):
        """Multiply by a quantity."""
        other = quantity(text)
        return Quantity(self.value * other.value, combined(self.dimensions, other.dimensions))

    def over(self, text):
        """Divide by a quantity."""
        other = quantity(text)
        return Quantity(self.value / other.value, combined(self.dimensions, other.dimensions, -1))

    def power(self, whole):
        """Raise to a whole power."""
        return Quantity(self.value**whole, raised(self.dimensions, whole))

    def compare(self, text):
        """Return -1, 0 or 1: less than a quantity, equal, or more."""
        other = self._alike(text)
        difference = self.value - other.value
        if abs(difference) <= _NEAR * max(abs(self.value), abs(other.value)):
            return 0
        return 1 if difference > 0 else -1

    def write(self, unit=None, digits=2):
        """Return the number and the unit."""
        value = self.value if unit is None else self.to(unit)
        number = f"{value:.{digits}f}"
        if "." in number:
            number = number.rstrip("0").rstrip(".")
        if number == "-0":
            number = "0"
        return f"{number} {write_unit(self.dimensions) if unit is None else unit}".strip()

    def _alike(self, text):
        other = quantity(text)
        if other.dimensions != self.dimensions:
            raise DimensionFault(text)
        return other
