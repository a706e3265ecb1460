"""What transit should do: the tests that everybody sees."""

from transit.errors import UnknownStopError
from transit.network import Network
from transit.table import next_departure, timetable


def town():
    network = Network()
    network.add_line("A", ["north", "market", "south"], [4, 5])
    network.add_line("B", ["west", "market", "east"], [6, 2])
    return network


def test_rides_on_one_line():
    trip = town().planner().fastest("north", "south")
    assert trip.minutes == 9
    assert trip.legs() == [("A", ["north", "market", "south"])]


def test_changes_take_time():
    trip = town().planner(change=3).fastest("north", "east")
    assert (trip.minutes, trip.changes) == (9, 1)
    assert trip.stops() == ["north", "market", "east"]


def test_trips_in_words():
    words = town().planner(change=3).fastest("south", "west").words()
    assert words == "A: south to market, 1 stop; change; B: market to west, 1 stop (14 min)"


def test_what_calls_where():
    network = town()
    assert network.stops() == ["east", "market", "north", "south", "west"]
    assert network.lines_at("market") == ["A", "B"]
    assert network.neighbours("north") == [("market", "A", 4)]


def test_closed_stops_cannot_be_used():
    network = town()
    network.close("market")
    assert network.planner().fastest("north", "east") is None
    assert network.planner().fastest("north", "south").minutes == 9


def test_unknown_stops():
    try:
        town().planner().fastest("north", "moon")
    except UnknownStopError:
        pass
    else:
        raise AssertionError("a trip to the moon")


def test_departures():
    assert timetable([2, 3], 10, 20, 50) == [[10, 12, 15], [30, 32, 35], [50, 52, 55]]
    assert next_departure(11, 10, 20, 50) == 30
