"""Finds the best trips, by trying them from the best to the worst."""

import heapq

from transit.trip import Trip


class Planner:
    """Trips through one network."""

    def __init__(self, network, change):
        self._network = network
        self._change = change

    def fastest(self, start, target):
        """Return the trip of the fewest minutes, then of the fewest changes."""
        return self._best(start, target, lambda minutes, changes: (minutes, changes))

    def fewest_changes(self, start, target):
        """Return the trip of the fewest changes, then of the fewest minutes."""
        return self._best(start, target, lambda minutes, changes: (changes, minutes))

    def reachable(self, start, within):
        """Map the stops that can be reached in time to the fewest minutes."""
        self._network.check(start)
        found = {}
        for stop in self._network.stops():
            trip = self.fastest(start, stop)
            if trip is not None and trip.minutes <= within:
                found[stop] = trip.minutes
        return found

    def _best(self, start, target, cost):
        self._network.check(start)
        self._network.check(target)
        if not (self._network.is_open(start) and self._network.is_open(target)):
            return None
        waiting = [(cost(0, 0), [], start, 0)]
        done = set()
        while waiting:
            _, legs, stop, minutes = heapq.heappop(waiting)
            if stop == target:
                return Trip(minutes, legs)
            if stop in done:
                continue
            done.add(stop)
            for line, stops, ride in self._rides(stop):
                longer = [*legs, (line, stops)]
                total = minutes + ride + (self._change if legs else 0)
                heapq.heappush(waiting, (cost(total, len(longer) - 1), longer, stops[-1], total))
        return None

    def _rides(self, stop):
        """List (line, stops, minutes) of all rides without change from a stop to an open one."""
        rides = []
        for line, stops, minutes in self._network.courses():
            for begin, here in enumerate(stops):
                if here != stop:
                    continue
                for end in range(begin + 1, len(stops)):
                    if self._network.is_open(stops[end]):
                        rides.append((line, stops[begin : end + 1], sum(minutes[begin:end])))
        return rides
