"""What measures should do: the tests that judge a repair."""

from measures.catalogue import UNITS
from measures.convert import best, convert, split
from measures.errors import DimensionFault, MeasureFault, UnitFault
from measures.quantity import quantity
from measures.units import parse_unit, write_unit


def near(value, expected):
    return abs(value - expected) <= 1e-9 * max(1, abs(expected))


def to_blame(text):
    try:
        parse_unit(text)
    except UnitFault as fault:
        return fault.text
    return None


def does_not_go(value, from_unit, to_unit):
    try:
        convert(value, from_unit, to_unit)
    except DimensionFault:
        return True
    return False


def test_every_unit_of_the_list():
    expected = {
        "km": 1000, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048, "mi": 1609.344,
        "g": 0.001, "t": 1000, "min": 60, "h": 3600, "d": 86400, "l": 0.001, "m": 1, "kg": 1, "s": 1,
    }  # fmt: skip
    assert all(near(UNITS[name][0], factor) for name, factor in expected.items())
    assert UNITS["N"] == (1, (1, 1, -2))
    assert UNITS["J"] == (1, (2, 1, -2))
    assert UNITS["W"] == (1, (2, 1, -3))
    assert UNITS["Pa"] == (1, (-1, 1, -2))
    assert len(UNITS) == 19


def test_units_of_several_factors():
    assert parse_unit("J/kg/s") == (1, (2, 0, -3))
    assert parse_unit("km^2") == (1000000, (2, 0, 0))
    assert parse_unit("1/min") == (1 / 60, (0, 0, -1))
    assert parse_unit("m / s * s") == (1, (1, 0, 0))
    assert parse_unit("s^-2*m^0") == (1, (0, 0, -2))
    assert parse_unit("1") == (1, (0, 0, 0))
    assert near(parse_unit("t/h*km")[0], 1000 / 3600 * 1000)


def test_what_is_no_unit():
    assert to_blame("m*foo") == "foo"
    assert to_blame("m//s") == ""
    assert to_blame("") == ""
    assert to_blame("m^x/s") == "m^x"
    assert to_blame("2*m") == "2"
    assert to_blame("km*C") == "C"
    assert to_blame("M") == "M"
    assert to_blame("kg") is None


def test_written_units():
    assert write_unit((1, 0, 0)) == "m"
    assert write_unit((2, 1, -3)) == "m^2*kg*s^-3"
    assert write_unit((0, -1, 1)) == "kg^-1*s"
    assert write_unit((0, 0, 0)) == ""


def test_conversions_of_compound_units():
    assert near(convert(90, "km/h", "m/s"), 25)
    assert near(convert(1, "mi", "ft"), 5280)
    assert near(convert(2, "d", "h"), 48)
    assert near(convert(3, "W*h", "J"), 10800)
    assert near(convert(5, "l", "cm^3"), 5000)
    assert near(convert(4, "1/s", "1/min"), 240)
    assert near(convert(1, "Pa", "N/cm^2"), 0.0001)


def test_conversions_that_do_not_go():
    assert does_not_go(1, "m", "m^2")
    assert does_not_go(1, "m/s", "s/m")
    assert does_not_go(1, "C", "m")
    assert does_not_go(1, "m", "K")
    assert not does_not_go(1, "J", "N*m")


def test_temperatures_both_ways():
    assert convert(50, "F", "C") == 10
    assert convert(-40, "C", "F") == -40
    assert near(convert(300, "K", "C"), 26.85)
    assert near(convert(212, "F", "K"), 373.15)
    assert convert(0, "K", "K") == 0
    assert convert(7, "F", "F") == 7


def test_there_is_an_absolute_zero():
    for value, unit in ((-1, "K"), (-274, "C"), (-460, "F")):
        try:
            convert(value, unit, "C")
        except ValueError:
            pass
        else:
            raise AssertionError(unit)
    assert convert(0, "K", "C") == -273.15
    assert convert(-273.15, "C", "K") == 0


def test_quantities_are_kept_in_base_units():
    speed = quantity("72 km/h")
    assert near(speed.value, 20)
    assert speed.dimensions == (1, 0, -1)
    assert near(speed.to("km/h"), 72)
    assert (quantity("-2.5").value, quantity("-2.5").dimensions) == (-2.5, (0, 0, 0))
    assert quantity(" 3  t ").value == 3000


def test_what_is_no_quantity():
    for text in ("", "km", "3km", "1e5 m", "3 m m", "+3 m", ".5 m", "3 C"):
        try:
            quantity(text)
        except MeasureFault:
            pass
        else:
            raise AssertionError(text)


def test_sums_and_differences():
    assert near(quantity("1 h").minus("15 min").to("min"), 45)
    assert near(quantity("2 N*m").plus("1 J").to("J"), 3)
    hour = quantity("1 h")
    for calculate, other in ((hour.plus, "3 m"), (hour.minus, "3 m"), (hour.compare, "3"), (hour.to, "m")):
        try:
            calculate(other)
        except DimensionFault:
            pass
        else:
            raise AssertionError("hours and metres")


def test_products_quotients_and_powers():
    assert quantity("6 m").over("2 s").dimensions == (1, 0, -1)
    assert near(quantity("6 m").over("2 s").value, 3)
    assert near(quantity("10 N").times("3 m").over("5 s").to("W"), 6)
    assert near(quantity("2 cm").power(3).to("l"), 0.008)
    assert quantity("2 s").power(-1).dimensions == (0, 0, -1)
    assert quantity("5 kg").power(0).write() == "1"
    try:
        quantity("6 m").over("0 s")
    except ZeroDivisionError:
        pass
    else:
        raise AssertionError("divided by zero")


def test_comparisons():
    assert quantity("1 km").compare("999 m") == 1
    assert quantity("1 ft").compare("12 in") == 0
    assert quantity("0.1 m").plus("0.2 m").compare("0.3 m") == 0
    assert quantity("-5 m").compare("-4 m") == -1
    assert quantity("1000000 m").compare("1000001 m") == -1
    assert quantity("0 s").compare("0 d") == 0


def test_written_quantities():
    assert quantity("12.50 km/h").write("km/h") == "12.5 km/h"
    assert quantity("12.5 km/h").write() == "3.47 m*s^-1"
    assert quantity("1200 g").write(digits=0) == "1 kg"
    assert quantity("100 m").write("m", 0) == "100 m"
    assert quantity("1 m").over("3 m").write(digits=4) == "0.3333"
    assert quantity("-0.001 m").write() == "0 m"
    assert quantity("-0.5 m").write("cm") == "-50 cm"


def test_writing_in_another_dimension():
    try:
        quantity("3 m").write("s")
    except DimensionFault:
        assert quantity("3 m").write("mm") == "3000 mm"
    else:
        raise AssertionError("metres are no seconds")


def test_the_best_unit():
    assert best("1 km", ["m", "km", "mm"]) == "km"
    assert best("999 m", ["m", "km", "mm"]) == "m"
    assert best("-5000 g", ["g", "kg", "t"]) == "kg"
    assert best("0.5 mm", ["km", "m", "mm"]) == "mm"
    assert best("3 J", ["N*m", "J"]) == "N*m"
    assert best("0 s", ["h", "s"]) == "h"


def test_splitting_into_whole_numbers():
    assert split("100000 s", ["d", "h", "min", "s"]) == [1, 3, 46, 40]
    assert split("59.5 s", ["min", "s"]) == [1, 0]
    assert split("59.4 s", ["min", "s"]) == [0, 59]
    assert split("71 in", ["ft", "in"]) == [5, 11]
    assert split("2.5 m", ["m"]) == [3]
    assert split("0 m", ["km", "m"]) == [0, 0]


def test_what_cannot_be_split():
    for text, units in (("5 s", ["s", "min"]), ("5 s", ["s", "s"]), ("-5 s", ["min", "s"])):
        try:
            split(text, units)
        except ValueError:
            pass
        else:
            raise AssertionError(text)
    try:
        split("5 s", ["km", "m"])
    except DimensionFault:
        pass
    else:
        raise AssertionError("seconds are no metres")
