"""What transit should do: the tests that judge a repair."""

from transit.errors import UnknownStopError
from transit.network import Network
from transit.table import next_departure, timetable


def coast():
    """A slow direct line, a quick one with changes, and a circle in one direction."""
    network = Network()
    network.add_line("slow", ["p", "q", "r", "s"], [10, 10, 10])
    network.add_line("quick", ["p", "k", "r"], [2, 3])
    network.add_line("shuttle", ["r", "s"], [4])
    network.add_line("ring", ["s", "t", "u", "s"], [1, 2, 3], both_ways=False)
    return network


def test_the_fastest_way_may_have_changes():
    trip = coast().planner(2).fastest("p", "s")
    assert trip.legs() == [("quick", ["p", "k", "r"]), ("shuttle", ["r", "s"])]
    assert (trip.minutes, trip.changes) == (11, 1)
    assert trip.stops() == ["p", "k", "r", "s"]


def test_the_fewest_changes_may_take_longer():
    trip = coast().planner(2).fewest_changes("p", "s")
    assert trip.legs() == [("slow", ["p", "q", "r", "s"])]
    assert (trip.minutes, trip.changes) == (30, 0)


def test_long_changes_are_avoided():
    assert coast().planner(22).fastest("p", "s").changes == 0
    assert coast().planner(21).fastest("p", "s").minutes == 30
    assert coast().planner(21).fastest("p", "s").changes == 0
    assert coast().planner(20).fastest("p", "s").changes == 1


def test_two_changes():
    trip = coast().planner(1).fastest("k", "u")
    assert trip.minutes == 3 + 1 + 4 + 1 + 3
    assert trip.changes == 2
    assert trip.stops() == ["k", "r", "s", "t", "u"]


def test_lines_of_one_direction():
    planner = coast().planner(5)
    assert planner.fastest("t", "s").legs() == [("ring", ["t", "u", "s"])]
    assert planner.fastest("t", "s").minutes == 5
    assert planner.fastest("u", "t").minutes == 3 + 5 + 1
    assert planner.fastest("u", "t").legs() == [("ring", ["u", "s"]), ("ring", ["s", "t"])]


def test_lines_ride_backwards():
    trip = coast().planner(6).fastest("s", "q")
    assert trip.legs() == [("slow", ["s", "r", "q"])]
    assert trip.minutes == 20
    assert coast().planner(5).fastest("s", "q").legs() == [("shuttle", ["s", "r"]), ("slow", ["r", "q"])]
    uneven = Network()
    uneven.add_line("x", ["a", "b", "c"], [1, 8])
    assert uneven.planner().fastest("c", "b").minutes == 8
    assert uneven.planner().fastest("b", "a").minutes == 1


def test_equals_are_decided_by_their_legs():
    network = Network()
    network.add_line("2", ["a", "x", "b"], [3, 3])
    network.add_line("1", ["a", "y", "b"], [2, 4])
    network.add_line("3", ["a", "w", "b"], [1, 5])
    assert network.planner().fastest("a", "b").legs() == [("1", ["a", "y", "b"])]


def test_equal_minutes_are_decided_by_changes():
    network = Network()
    network.add_line("a1", ["a", "m"], [2])
    network.add_line("a2", ["m", "b"], [2])
    network.add_line("z", ["a", "b"], [5])
    trip = network.planner(1).fastest("a", "b")
    assert (trip.minutes, trip.changes, trip.legs()) == (5, 0, [("z", ["a", "b"])])


def test_staying_is_a_trip():
    trip = coast().planner().fastest("q", "q")
    assert (trip.minutes, trip.changes, trip.legs(), trip.stops()) == (0, 0, [], [])
    assert trip.words() == "stay (0 min)"


def test_trips_with_several_stops_in_words():
    trip = coast().planner(2).fastest("p", "s")
    assert trip.words() == "quick: p to r, 2 stops; change; shuttle: r to s, 1 stop (11 min)"


def test_closed_stops_are_ridden_through():
    network = coast()
    network.close("r")
    planner = network.planner(2)
    assert planner.fastest("p", "s").minutes == 30
    assert planner.fastest("p", "r") is None
    assert planner.fastest("r", "r") is None
    assert network.lines_at("r") == ["quick", "shuttle", "slow"]
    network.open("r")
    assert planner.fastest("p", "s").minutes == 11


def test_there_may_be_no_way():
    network = coast()
    network.add_line("island", ["i", "j"], [1], both_ways=False)
    assert network.planner().fastest("p", "i") is None
    assert network.planner().fastest("j", "i") is None
    assert network.planner().fewest_changes("i", "j").minutes == 1


def test_what_can_be_reached_in_time():
    planner = coast().planner(2)
    assert planner.reachable("p", 10) == {"p": 0, "k": 2, "r": 5, "q": 10}
    assert planner.reachable("p", 11) == {"p": 0, "k": 2, "r": 5, "q": 10, "s": 11}
    assert planner.reachable("t", 1) == {"t": 0}
    network = coast()
    network.close("r")
    assert network.planner(2).reachable("p", 10) == {"p": 0, "k": 2, "q": 10}
    assert network.planner(2).reachable("r", 10) == {}


def test_neighbours_of_every_line_and_direction():
    network = coast()
    assert network.neighbours("r") == [("k", "quick", 3), ("q", "slow", 10), ("s", "shuttle", 4), ("s", "slow", 10)]
    assert network.neighbours("s") == [("r", "shuttle", 4), ("r", "slow", 10), ("t", "ring", 1)]
    assert network.neighbours("t") == [("u", "ring", 2)]
    assert network.lines_at("s") == ["ring", "shuttle", "slow"]


def test_senseless_lines_are_refused():
    network = coast()
    for name, stops, minutes in (
        ("slow", ["a", "b"], [1]),
        ("one", ["a"], []),
        ("many", ["a", "b"], [1, 2]),
        ("few", ["a", "b", "c"], [1]),
        ("none", ["a", "b"], [0]),
    ):
        try:
            network.add_line(name, stops, minutes)
        except ValueError:
            pass
        else:
            raise AssertionError(name)
    assert network.stops() == ["k", "p", "q", "r", "s", "t", "u"]


def test_unknown_stops_everywhere():
    network = coast()
    refused = 0
    for ask in (network.close, network.open, network.lines_at, network.neighbours):
        try:
            ask("nowhere")
        except UnknownStopError:
            refused += 1
    try:
        network.planner().reachable("nowhere", 5)
    except KeyError:
        refused += 1
    try:
        network.planner().fastest("nowhere", "p")
    except UnknownStopError:
        refused += 1
    assert refused == 6


def test_departures_up_to_the_last():
    assert timetable([7], 100, 15, 129) == [[100, 107], [115, 122]]
    assert timetable([7], 100, 15, 130) == [[100, 107], [115, 122], [130, 137]]
    assert timetable([1, 1, 1], 5, 60, 4) == []
    assert [next_departure(time, 100, 15, 130) for time in (0, 100, 101, 116, 130, 131)] == [
        100,
        100,
        115,
        130,
        130,
        None,
    ]
    assert next_departure(3, 3, 1, 3) == 3
    try:
        timetable([1], 0, 0, 10)
    except ValueError:
        pass
    else:
        raise AssertionError("departures at one time for ever")
