"""What a network does not know."""


class UnknownStopError(KeyError):
    """A stop at which no line calls."""
