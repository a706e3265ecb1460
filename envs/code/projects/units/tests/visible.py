"""What measures should do: the tests that everybody sees."""

from measures.convert import best, convert, split
from measures.errors import DimensionFault
from measures.quantity import quantity
from measures.units import parse_unit


def test_lengths_are_converted():
    assert convert(2, "km", "m") == 2000
    assert convert(250, "cm", "m") == 2.5


def test_speeds_are_converted():
    assert round(convert(36, "km/h", "m/s"), 9) == 10


def test_temperatures_are_converted():
    assert convert(100, "C", "F") == 212
    assert convert(0, "C", "K") == 273.15


def test_units_have_dimensions():
    assert parse_unit("kg*m/s^2") == (1, (1, 1, -2))


def test_unequal_dimensions_do_not_go_together():
    try:
        convert(1, "kg", "m")
    except DimensionFault:
        pass
    else:
        raise AssertionError("a kilogramme has no metres")


def test_quantities_are_added():
    assert quantity("2 km").plus("500 m").write("km") == "2.5 km"


def test_products_have_their_own_dimensions():
    assert quantity("3 N").times("4 m").write("J") == "12 J"


def test_picking_units():
    assert best("1500 m", ["mm", "m", "km"]) == "km"
    assert split("3725 s", ["h", "min", "s"]) == [1, 2, 5]
