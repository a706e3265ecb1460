"""Reads a table of tables through a cache."""

from cachebox.cache import Cache

_NOTHING = object()


class Loader:
    """Parts of named rows, each cached for itself."""

    def __init__(self, table, capacity, ttl=None):
        self.cache = Cache(capacity, ttl)
        self.reads = 0
        self._table = table

    def load(self, name, part="all"):
        """Return a part of a row, or all of it as sorted pairs."""
        found = self.cache.get((name, part), _NOTHING)
        if found is _NOTHING:
            found = self._read(name, part)
            self.cache.put((name, part), found)
        return found

    def forget(self, name):
        """Remove all cached parts of a row and count them."""
        cached = self.cache.keys()
        parts = [key for key in cached if key[0] == name]
        for key in parts:
            self.cache.remove(key)
        return len(parts)

    def _read(self, name, part):
        self.reads += 1
        row = self._table[name]
        if part == "all":
            return sorted(row.items())
        return row[part]
