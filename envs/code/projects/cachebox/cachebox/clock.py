"""A clock that is moved by hand."""


class Clock:
    """Seconds since some start."""

    def __init__(self, now=0):
        self.now = now

    def advance(self, seconds):
        """Let time pass."""
        if seconds < 0:
            raise ValueError("time does not go back")
        self.now += seconds
