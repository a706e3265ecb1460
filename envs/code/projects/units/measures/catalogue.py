"""The units: factors to the base units, and powers of (m, kg, s)."""

BASES = ("m", "kg", "s")
NONE = (0, 0, 0)
_LENGTH, _MASS, _TIME = (1, 0, 0), (0, 1, 0), (0, 0, 1)

UNITS = {
    "m": (1, _LENGTH),
    "km": (1000, _LENGTH),
    "cm": (0.01, _LENGTH),
    "mm": (0.001, _LENGTH),
    "in": (0.0254, _LENGTH),
    "ft": (12 * 0.0254, _LENGTH),
    "mi": (5280 * 12 * 0.0254, _LENGTH),
    "kg": (1, _MASS),
    "g": (0.001, _MASS),
    "t": (1000, _MASS),
    "s": (1, _TIME),
    "min": (60, _TIME),
    "h": (3600, _TIME),
    "d": (24 * 3600, _TIME),
    "N": (1, (1, 1, -2)),
    "J": (1, (2, 1, -2)),
    "W": (1, (2, 1, -3)),
    "Pa": (1, (-1, 1, -2)),
    "l": (0.001, (3, 0, 0)),
}


def combined(first, second, sign=1):
    """Return the dimensions of a product, or with sign -1 of a quotient."""
    return tuple(a + sign * b for a, b in zip(first, second, strict=True))


def raised(dimensions, power):
    """Return the dimensions of a power."""
    return tuple(power * each for each in dimensions)
