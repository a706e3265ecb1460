"""A way through the network."""


class Trip:
    """Legs on lines, with the minutes in all."""

    def __init__(self, minutes, legs):
        self.minutes = minutes
        self._legs = legs  # [(line, [stops])]

    @property
    def changes(self):
        """Count the changes between lines."""
        return max(0, len(self._legs) - 1)

    def legs(self):
        """List (line, stops), both ends included."""
        return [(line, list(stops)) for line, stops in self._legs]

    def stops(self):
        """List all stops on the way, those of a change once."""
        if not self._legs:
            return []
        found = [self._legs[0][1][0]]
        for _, stops in self._legs:
            found.extend(stops[1:])
        return found

    def words(self):
        """Describe the trip in one line."""
        if not self._legs:
            return f"stay ({self.minutes} min)"
        return "; change; ".join(_leg_words(line, stops) for line, stops in self._legs) + f" ({self.minutes} min)"


def _leg_words(line, stops):
    rides = len(stops) - 1
    return f"{line}: {stops[0]} to {stops[-1]}, {rides} {'stop' if rides == 1 else 'stops'}"
