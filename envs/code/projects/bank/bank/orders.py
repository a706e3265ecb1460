"""Standing orders."""


class Order:
    """A transfer that is due several times."""

    def __init__(self, source, target, cents, day, every, times, text):
        if every < 1 or times < 1:
            raise ValueError("an order is due at least once, and on different days")
        self.source = source
        self.target = target
        self.cents = cents
        self.text = text
        self._days = range(day, day + every * times, every)

    def is_due(self, day):
        """Return whether the order is to be carried out on a day."""
        return day in self._days
