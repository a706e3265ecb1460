"""What the diary should do: the tests that everybody sees."""

from diary.book import Diary
from diary.errors import CollisionFault, TimeFault
from diary.spans import gaps, joined
from diary.times import clock, length, minutes


def opened():
    diary = Diary("08:00", "18:00")
    diary.add_room("oak")
    diary.add_room("elm")
    return diary


def test_times_are_minutes_since_midnight():
    assert minutes("09:30") == 570
    assert clock(570) == "09:30"
    assert length(90) == "1 h 30 min"


def test_spans_that_overlap_are_joined():
    assert joined([(60, 90), (10, 20), (80, 120)]) == [(10, 20), (60, 120)]


def test_gaps_between_spans():
    assert gaps((0, 100), [(20, 30), (50, 60)]) == [(0, 20), (30, 50), (60, 100)]


def test_bookings_are_listed_by_start():
    diary = opened()
    diary.book("oak", 1, "14:00", "15:00", "review")
    diary.book("oak", 1, "09:00", "10:00", "stand-up")
    assert diary.day_list("oak", 1) == [("09:00", "10:00", "stand-up"), ("14:00", "15:00", "review")]


def test_bookings_may_not_collide():
    diary = opened()
    first = diary.book("oak", 1, "09:00", "10:00", "stand-up")
    try:
        diary.book("oak", 1, "09:30", "11:00", "other")
    except CollisionFault as fault:
        assert fault.number == first
    else:
        raise AssertionError("two bookings at one time")


def test_bookings_keep_to_the_opening_hours():
    try:
        opened().book("oak", 1, "07:00", "09:00", "early")
    except TimeFault:
        pass
    else:
        raise AssertionError("booked before opening")


def test_the_first_free_place():
    diary = opened()
    diary.book("elm", 1, "08:00", "09:00", "a")
    diary.book("oak", 1, "08:00", "10:00", "b")
    assert diary.first_free(1, 60) == ("elm", "09:00")


def test_when_a_room_is_free():
    diary = opened()
    diary.book("oak", 1, "10:00", "12:00", "a")
    assert diary.free("oak", 1) == [("08:00", "10:00"), ("12:00", "18:00")]
