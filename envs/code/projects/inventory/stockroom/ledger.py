"""The ledger: every movement, in the order of recording."""


class Ledger:
    """Movements as (day, item, change, cents)."""

    def __init__(self):
        self._entries = []

    def record(self, day, item, change, cents):
        """Add one movement; `change` is negative for pieces that left."""
        self._entries.append((day, item, change, cents))

    def entries(self, item=None, since=None, until=None):
        """List movements, of one item and between two days, both inclusive, where they are given."""
        found = []
        for entry in self._entries:
            if item is not None and entry[1] != item:
                continue
            if since is not None and entry[0] < since:
                continue
            if until is not None and entry[0] > until:
                continue
            found.append(entry)
        return found

    def balance(self, item, day):
        """Return the pieces at the end of a day."""
        return sum(change for _, _, change, _ in self.entries(item, until=day))

    def shipped(self, item, since, until):
        """Count the pieces that left between two days."""
        return -sum(change for _, _, change, _ in self.entries(item, since, until) if change < 0)
