"""A clock that is moved by hand."""


class Clock:
    """Milliseconds since the start."""

    def __init__(self):
        self.now = 0

    def advance(self, ms):
        """Let time pass."""
        if ms < 0:
            raise ValueError("time does not go back")
        self.now += ms
