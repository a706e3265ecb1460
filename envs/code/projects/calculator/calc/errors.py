"""What can be wrong with a calculation."""


class CalcError(Exception):
    """A line that has no value."""


class SyntaxFault(CalcError):
    """A text that is no expression; `position` is where it stops being one."""

    def __init__(self, position):
        super().__init__(f"unexpected at {position}")
        self.position = position


class NameFault(CalcError):
    """A name that is not known, or that cannot be set."""

    def __init__(self, name):
        super().__init__(f"not usable here: {name}")
        self.name = name


class MathError(CalcError):
    """An operation without a result."""
