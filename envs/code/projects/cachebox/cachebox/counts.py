"""What a cache counts."""


class Counts:
    """Hits, misses, and what left the cache by itself."""

    def __init__(self):
        self.hits = 0
        self.misses = 0
        self.dropped = 0
        self.expired = 0

    def got(self, is_hit):
        """Count one get."""
        if is_hit:
            self.hits += 1
        else:
            self.misses += 1

    def rate(self):
        """Return hits per get."""
        gets = self.hits + self.misses
        return self.hits / gets if gets else 0.0
