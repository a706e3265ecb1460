"""Counts the items of numbered lists."""


class Numbering:
    """The next number of every depth that has a run of numbered items."""

    def __init__(self):
        self._next = {}

    def mark(self, depth, mark):
        """Return an item's mark as it is set."""
        self._next = {other: number for other, number in self._next.items() if other <= depth}
        if mark == "-":
            self._next.pop(depth, None)
            return "-"
        number = self._next.get(depth, mark)
        self._next[depth] = number + 1
        return f"{number}."

    def interrupt(self):
        """End all runs."""
        self._next = {}
