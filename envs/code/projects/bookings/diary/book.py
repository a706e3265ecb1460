"""The diary: rooms, their bookings, and when they are free."""

from diary.errors import CollisionFault, TimeFault, UnknownRoomFault
from diary.spans import gaps, joined, overlap, shared
from diary.times import clock, length, minutes


class Diary:
    """Bookings by number: (room, day, start, end, title), times in minutes."""

    def __init__(self, opens="08:00", closes="18:00"):
        self._hours = (minutes(opens), minutes(closes))
        self._rooms = []
        self._bookings = {}
        self._last = 0

    def add_room(self, name):
        """Make a room known."""
        if name in self._rooms:
            raise ValueError(f"there is a room {name!r} already")
        self._rooms.append(name)
        self._rooms.sort()

    def book(self, room, day, start, end, title):
        """Book a room and return the booking's number."""
        span = self._checked(room, day, minutes(start), minutes(end))
        self._last += 1
        self._bookings[self._last] = (room, day, *span, title)
        return self._last

    def repeat(self, room, day, start, end, title, every, times):
        """Book the same on several days, or on none of them."""
        if every < 1 or times < 1:
            raise ValueError("a repeated booking is on different days, at least one")
        days = [day + every * turn for turn in range(times)]
        for each in days:
            self._checked(room, each, minutes(start), minutes(end))
        return [self.book(room, each, start, end, title) for each in days]

    def cancel(self, number):
        """Remove a booking; return whether there was one."""
        return self._bookings.pop(number, None) is not None

    def move(self, number, day, start):
        """Give a booking another day and start."""
        room, _, old_start, old_end, title = self._bookings[number]
        begin = minutes(start)
        span = self._checked(room, day, begin, begin + old_end - old_start, but=number)
        self._bookings[number] = (room, day, *span, title)

    def day_list(self, room, day):
        """List a room's bookings of a day as (start, end, title)."""
        found = sorted(self._on(room, day))
        return [(clock(start), clock(end), self._bookings[number][4]) for start, end, number in found]

    def free(self, room, day, at_least=1):
        """List when a room is free."""
        return _long_enough(self._free(room, day), at_least)

    def first_free(self, day, length, after="00:00"):
        """Return (room, start) of the earliest place of so many minutes."""
        begin = minutes(after)
        places = []
        for room in self._rooms:
            for start, end in self._free(room, day):
                start = max(start, begin)
                if end - start >= length:
                    places.append((start, room))
        if not places:
            return None
        start, room = min(places)
        return (room, clock(start))

    def free_for_all(self, rooms, day, at_least=1):
        """List when all of some rooms are free."""
        free = [self._hours]
        for room in rooms:
            free = shared(free, self._free(room, day))
        return _long_enough(free, at_least)

    def busy(self, room, day):
        """Return in words how long a room is booked."""
        return length(sum(end - start for start, end, _ in self._on(room, day)))

    def _on(self, room, day):
        if room not in self._rooms:
            raise UnknownRoomFault(room)
        return [
            (start, end, number)
            for number, (where, when, start, end, _) in self._bookings.items()
            if where == room and when == day
        ]

    def _free(self, room, day):
        return gaps(self._hours, [(start, end) for start, end, _ in self._on(room, day)])

    def _checked(self, room, day, start, end, but=None):
        others = sorted(self._on(room, day))
        if start >= end or start < self._hours[0] or end > self._hours[1]:
            raise TimeFault(f"{clock(start)} to {clock(end)} is not within the opening hours")
        for other_start, other_end, number in others:
            if number != but and overlap((start, end), (other_start, other_end)):
                raise CollisionFault(number)
        return (start, end)


def _long_enough(spans, at_least):
    return [(clock(start), clock(end)) for start, end in joined(spans) if end - start >= at_least]
