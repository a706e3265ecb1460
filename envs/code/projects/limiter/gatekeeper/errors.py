"""What will never be allowed."""


class NeverError(Exception):
    """A cost that a rule can never have room for; `rule` is its name."""

    def __init__(self, rule):
        super().__init__(f"too much for {rule}")
        self.rule = rule


def check_positive(*numbers):
    """Refuse numbers below one."""
    if min(numbers) < 1:
        raise ValueError(f"numbers of at least 1 expected, got {numbers}")
