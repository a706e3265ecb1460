"""Lines and their stops."""

from transit.errors import UnknownStopError
from transit.planner import Planner


class Network:
    """Lines by name: each a list of courses (stops, minutes), one for every direction."""

    def __init__(self):
        self._lines = {}
        self._closed = set()

    def add_line(self, name, stops, minutes, both_ways=True):
        """Add a line that calls at stops, `minutes` apart."""
        if name in self._lines:
            raise ValueError(f"there is a line {name!r} already")
        if len(stops) < 2 or len(minutes) != len(stops) - 1 or min(minutes) < 1:
            raise ValueError("a line has two stops or more, and minutes of at least 1 between them")
        courses = [(list(stops), list(minutes))]
        if both_ways:
            courses.append((list(reversed(stops)), list(reversed(minutes))))
        self._lines[name] = courses

    def close(self, stop):
        """Let nobody board or leave at a stop."""
        self.check(stop)
        self._closed.add(stop)

    def open(self, stop):
        """Undo closing."""
        self.check(stop)
        self._closed.discard(stop)

    def is_open(self, stop):
        """Return whether people may board and leave."""
        return stop not in self._closed

    def stops(self):
        """List all stops."""
        return sorted({stop for courses in self._lines.values() for stop in courses[0][0]})

    def lines_at(self, stop):
        """List the lines that call at a stop."""
        self.check(stop)
        return sorted(name for name, courses in self._lines.items() if stop in courses[0][0])

    def neighbours(self, stop):
        """List the rides of one stop's length: (stop, line, minutes)."""
        self.check(stop)
        rides = set()
        for line, stops, minutes in self.courses():
            for place, here in enumerate(stops[:-1]):
                if here == stop:
                    rides.add((stops[place + 1], line, minutes[place]))
        return sorted(rides)

    def courses(self):
        """List (line, stops, minutes) of every direction."""
        return [(name, *course) for name, courses in self._lines.items() for course in courses]

    def check(self, stop):
        """Refuse a stop at which no line calls."""
        if stop not in self.stops():
            raise UnknownStopError(stop)

    def planner(self, change=3):
        """Return a planner of trips."""
        return Planner(self, change)
