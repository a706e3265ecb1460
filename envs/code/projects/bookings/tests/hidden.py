"""What the diary should do: the tests that judge a repair."""

from diary.book import Diary
from diary.errors import CollisionFault, DiaryFault, TimeFault, UnknownRoomFault
from diary.spans import gaps, joined, overlap, shared
from diary.times import clock, length, minutes


def with_rooms(*names):
    diary = Diary("07:30", "12:00")
    for name in names:
        diary.add_room(name)
    return diary


def collision(diary, *booking):
    try:
        diary.book(*booking)
    except CollisionFault as fault:
        return fault.number
    return None


def is_refused(diary, start, end):
    try:
        diary.book("den", 0, start, end, "x")
    except TimeFault:
        return True
    return False


def test_the_ends_of_the_day():
    assert [minutes(text) for text in ("00:00", "00:59", "23:59", "24:00")] == [0, 59, 1439, 1440]
    assert [clock(total) for total in (0, 61, 1440)] == ["00:00", "01:01", "24:00"]


def test_what_is_no_time():
    for text in ("9:30", "09:60", "24:01", "25:00", "0930", "09:30 ", "", "ab:cd"):
        try:
            minutes(text)
        except TimeFault:
            pass
        else:
            raise AssertionError(text)


def test_lengths_in_words():
    words = ["0 min", "45 min", "1 h", "1 h 1 min", "2 h", "10 h 5 min"]
    assert [length(total) for total in (0, 45, 60, 61, 120, 605)] == words


def test_spans_that_touch_do_not_overlap():
    assert overlap((10, 20), (19, 30))
    assert overlap((19, 30), (10, 20))
    assert overlap((10, 50), (20, 30))
    assert not overlap((10, 20), (20, 30))
    assert not overlap((20, 30), (10, 20))


def test_spans_that_touch_are_joined():
    assert joined([(20, 30), (10, 20), (31, 40)]) == [(10, 30), (31, 40)]
    assert joined([(10, 50), (20, 30), (45, 46), (5, 5), (60, 55)]) == [(10, 50)]
    assert joined([]) == []


def test_gaps_at_the_edges():
    assert gaps((10, 50), [(0, 20), (40, 60)]) == [(20, 40)]
    assert gaps((10, 50), [(0, 10), (50, 90)]) == [(10, 50)]
    assert gaps((10, 50), [(10, 15), (45, 50)]) == [(15, 45)]
    assert gaps((10, 50), [(5, 60)]) == []
    assert gaps((10, 50), []) == [(10, 50)]


def test_shared_parts_of_two_lists():
    assert shared([(0, 30), (40, 60)], [(20, 45), (50, 70)]) == [(20, 30), (40, 45), (50, 60)]
    assert shared([(0, 10)], [(10, 20)]) == []
    assert shared([(0, 5), (5, 10)], [(3, 8)]) == [(3, 8)]
    assert shared([(0, 10), (12, 20)], [(2, 4), (6, 10), (11, 13)]) == [(2, 4), (6, 10), (12, 13)]


def test_neighbours_do_not_collide():
    diary = with_rooms("den")
    assert diary.book("den", 0, "08:00", "09:00", "a") == 1
    assert diary.book("den", 0, "09:00", "10:00", "b") == 2
    assert diary.book("den", 0, "07:30", "08:00", "c") == 3
    assert diary.day_list("den", 0) == [("07:30", "08:00", "c"), ("08:00", "09:00", "a"), ("09:00", "10:00", "b")]


def test_the_first_booking_in_the_way_is_named():
    diary = with_rooms("den", "loft")
    late = diary.book("den", 0, "10:00", "11:00", "late")
    early = diary.book("den", 0, "08:00", "09:00", "early")
    assert collision(diary, "den", 0, "08:30", "10:30", "x") == early
    assert collision(diary, "den", 0, "09:30", "10:30", "x") == late
    assert collision(diary, "loft", 0, "08:30", "10:30", "x") is None
    assert collision(diary, "den", 1, "08:30", "10:30", "x") is None


def test_opening_hours_may_be_filled():
    diary = with_rooms("den")
    assert is_refused(diary, "07:29", "08:00")
    assert is_refused(diary, "11:00", "12:01")
    assert is_refused(diary, "09:00", "09:00")
    assert is_refused(diary, "10:00", "09:00")
    assert not is_refused(diary, "07:30", "12:00")
    assert diary.busy("den", 0) == "4 h 30 min"


def test_repeated_bookings():
    diary = with_rooms("den")
    assert diary.repeat("den", 3, "08:00", "08:45", "class", 7, 3) == [1, 2, 3]
    assert [diary.busy("den", day) for day in (3, 10, 17, 24, 4)] == ["45 min", "45 min", "45 min", "0 min", "0 min"]


def test_repeated_bookings_are_all_or_none():
    diary = with_rooms("den")
    diary.book("den", 5, "08:30", "09:00", "in the way")
    try:
        diary.repeat("den", 1, "08:00", "08:45", "class", 2, 4)
    except CollisionFault as fault:
        assert fault.number == 1
    else:
        raise AssertionError("a repeated booking collided")
    assert diary.day_list("den", 1) == []
    for every, times in ((0, 2), (1, 0)):
        try:
            diary.repeat("den", 1, "08:00", "08:45", "class", every, times)
        except ValueError:
            assert diary.day_list("den", 1) == []
        else:
            raise AssertionError((every, times))
    assert diary.repeat("den", 1, "08:00", "08:45", "single", 1, 1) == [2]


def test_cancelled_bookings_make_room():
    diary = with_rooms("den")
    number = diary.book("den", 0, "08:00", "09:00", "a")
    assert diary.cancel(number)
    assert not diary.cancel(number)
    assert diary.free("den", 0) == [("07:30", "12:00")]
    assert diary.book("den", 0, "08:00", "09:00", "b") == 2


def test_moves_keep_the_length():
    diary = with_rooms("den")
    number = diary.book("den", 0, "08:00", "09:30", "a")
    diary.move(number, 0, "08:30")
    assert diary.day_list("den", 0) == [("08:30", "10:00", "a")]
    diary.move(number, 2, "10:30")
    assert diary.day_list("den", 0) == []
    assert diary.day_list("den", 2) == [("10:30", "12:00", "a")]


def test_moves_that_fail_change_nothing():
    diary = with_rooms("den")
    first = diary.book("den", 0, "08:00", "09:00", "a")
    second = diary.book("den", 0, "10:00", "11:00", "b")
    for start, kind in (("09:30", CollisionFault), ("11:30", TimeFault), ("07:00", TimeFault)):
        try:
            diary.move(first, 0, start)
        except kind:
            pass
        else:
            raise AssertionError(start)
    assert diary.day_list("den", 0) == [("08:00", "09:00", "a"), ("10:00", "11:00", "b")]
    diary.move(second, 0, "09:00")
    try:
        diary.move(77, 0, "09:00")
    except KeyError:
        assert diary.day_list("den", 0) == [("08:00", "09:00", "a"), ("09:00", "10:00", "b")]
    else:
        raise AssertionError("a booking that is not there was moved")


def test_free_places_of_some_length():
    diary = with_rooms("den")
    diary.book("den", 0, "08:00", "10:00", "a")
    diary.book("den", 0, "10:20", "11:30", "b")
    assert diary.free("den", 0, 30) == [("07:30", "08:00"), ("11:30", "12:00")]
    assert diary.free("den", 0, 31) == []
    assert diary.free("den", 0, 20) == [("07:30", "08:00"), ("10:00", "10:20"), ("11:30", "12:00")]


def test_the_earliest_place_of_all_rooms():
    diary = with_rooms("loft", "den")
    assert diary.first_free(0, 270) == ("den", "07:30")
    assert diary.first_free(0, 271) is None
    diary.book("den", 0, "08:00", "11:00", "a")
    assert diary.first_free(0, 30) == ("den", "07:30")
    assert diary.first_free(0, 31) == ("loft", "07:30")
    assert diary.first_free(0, 60, "10:45") == ("loft", "10:45")
    assert diary.first_free(0, 60, "11:00") == ("den", "11:00")
    assert diary.first_free(0, 60, "11:01") is None


def test_when_several_rooms_are_free():
    diary = with_rooms("loft", "den", "hall")
    diary.book("den", 0, "07:30", "09:00", "a")
    diary.book("loft", 0, "10:00", "11:00", "b")
    diary.book("hall", 0, "08:30", "09:30", "c")
    assert diary.free_for_all(["den", "loft", "hall"], 0) == [("09:30", "10:00"), ("11:00", "12:00")]
    assert diary.free_for_all(["loft", "den"], 0, 61) == []
    assert diary.free_for_all(["loft", "den"], 0, 60) == [("09:00", "10:00"), ("11:00", "12:00")]
    assert diary.free_for_all([], 0) == [("07:30", "12:00")]


def test_rooms_are_added_once_and_known():
    diary = with_rooms("den")
    try:
        diary.add_room("den")
    except ValueError:
        pass
    else:
        raise AssertionError("added twice")
    for kind in (UnknownRoomFault, DiaryFault):
        try:
            diary.book("attic", 0, "08:00", "09:00", "x")
        except kind:
            pass
        else:
            raise AssertionError("booked a room that is not there")
