"""The cache."""

from cachebox.clock import Clock
from cachebox.counts import Counts


class TooHeavyError(Exception):
    """One value that weighs more than the cache holds."""


class Entry:
    """A value, its weight, and when it is too old."""

    def __init__(self, value, weight, since, ttl):
        self.value = value
        self.weight = weight
        self.since = since
        self.ttl = ttl

    def remaining(self, now):
        """Return the seconds left, None for ever."""
        return None if self.ttl is None else self.since + self.ttl - now

    def is_old(self, now):
        """Return whether no time is left."""
        remaining = self.remaining(now)
        return remaining is not None and remaining <= 0


class Cache:
    """Entries by key, in the order of use, the longest ago first."""

    def __init__(self, capacity, ttl=None):
        if capacity < 1:
            raise ValueError("a capacity is at least 1")
        self.clock = Clock()
        self.counts = Counts()
        self._capacity = capacity
        self._ttl = _checked(ttl)
        self._entries = {}

    def put(self, key, value, weight=1, ttl=None):
        """Store a value and return the keys that were dropped for it."""
        if weight < 1:
            raise ValueError("a weight is at least 1")
        if weight > self._capacity:
            raise TooHeavyError(f"{weight} of {self._capacity}")
        ttl = self._ttl if ttl is None else _checked(ttl)
        self._expire()
        self._entries.pop(key, None)
        self._entries[key] = Entry(value, weight, self.clock.now, ttl)
        dropped = []
        while self._total() > self._capacity:
            oldest = next(iter(self._entries))
            del self._entries[oldest]
            dropped.append(oldest)
        self.counts.dropped += len(dropped)
        return dropped

    def get(self, key, default=None):
        """Return a value and count it as used."""
        self._expire()
        self.counts.got(key in self._entries)
        if key not in self._entries:
            return default
        self._use(key)
        return self._entries[key].value

    def peek(self, key, default=None):
        """Return a value without using it."""
        return self._entries[key].value if key in self else default

    def touch(self, key, ttl=None):
        """Start a key's age anew; return whether it is there."""
        self._expire()
        if key not in self._entries:
            return False
        entry = self._entries[key]
        entry.since = self.clock.now
        if ttl is not None:
            entry.ttl = _checked(ttl)
        self._use(key)
        return True

    def remove(self, key):
        """Remove a key; return whether it was there."""
        self._expire()
        return self._entries.pop(key, None) is not None

    def remaining(self, key):
        """Return the seconds that a key has left, None for ever."""
        if key not in self:
            raise KeyError(key)
        return self._entries[key].remaining(self.clock.now)

    def keys(self):
        """List the keys, the one used longest ago first."""
        self._expire()
        return list(self._entries)

    def weight(self):
        """Return the weight of all entries."""
        self._expire()
        return self._total()

    def __contains__(self, key):
        return key in self._entries and not self._entries[key].is_old(self.clock.now)

    def __len__(self):
        return len(self.keys())

    def _expire(self):
        old = [key for key, entry in self._entries.items() if entry.is_old(self.clock.now)]
        for key in old:
            del self._entries[key]
        self.counts.expired += len(old)

    def _use(self, key):
        self._entries[key] = self._entries.pop(key)

    def _total(self):
        return sum(entry.weight for entry in self._entries.values())


def _checked(ttl):
    if ttl is not None and ttl <= 0:
        raise ValueError("a ttl is above 0")
    return ttl
