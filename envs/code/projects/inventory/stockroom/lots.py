"""Lots: pieces that were received at one price, the oldest used first."""


class Lots:
    """The lots of one item."""

    def __init__(self):
        self._lots = []  # [quantity, price], the oldest first

    def add(self, quantity, price):
        """Add pieces; a lot of the same price as the newest joins it."""
        if self._lots and self._lots[-1][1] == price:
            self._lots[-1][0] += quantity
        else:
            self._lots.append([quantity, price])

    def take(self, quantity):
        """Remove the oldest pieces and return what they cost in all."""
        cost = 0
        while quantity > 0:
            oldest = self._lots[0]
            used = min(quantity, oldest[0])
            cost += used * oldest[1]
            quantity -= used
            oldest[0] -= used
            if oldest[0] == 0:
                self._lots.pop(0)
        return cost

    def quantity(self):
        """Count the pieces."""
        return sum(quantity for quantity, _ in self._lots)

    def value(self):
        """Return what the pieces cost."""
        return sum(quantity * price for quantity, price in self._lots)

    def rows(self):
        """List (quantity, price)."""
        return [(quantity, price) for quantity, price in self._lots]
