"""The rules. Each knows, for every user, for how much it has room and how long to wait for more."""

from gatekeeper.errors import check_positive


class Bucket:
    """Tokens that come back with time."""

    def __init__(self, size, refill, every):
        check_positive(size, refill, every)
        self.most = size
        self._refill = refill
        self._every = every
        self._buckets = {}  # user -> [tokens, time of the last refill]

    def room(self, user, now):
        """Return the tokens there are."""
        return self._bucket(user, now)[0]

    def take(self, user, cost, now):
        """Take tokens out."""
        self._bucket(user, now)[0] -= cost

    def wait(self, user, cost, now):
        """Return the milliseconds until there are so many tokens."""
        tokens, since = self._bucket(user, now)
        if tokens >= cost:
            return 0
        refills = -(-(cost - tokens) // self._refill)
        return since + refills * self._every - now

    def _bucket(self, user, now):
        bucket = self._buckets.setdefault(user, [self.most, now])
        refills = (now - bucket[1]) // self._every
        bucket[0] = min(self.most, bucket[0] + refills * self._refill)
        bucket[1] += refills * self._every
        return bucket


class Window:
    """So much in any length of time."""

    def __init__(self, limit, length):
        check_positive(limit, length)
        self.most = limit
        self._length = length
        self._taken = {}  # user -> [(time, cost)]

    def room(self, user, now):
        """Return what may still be taken now."""
        return self.most - sum(cost for _, cost in self._recent(user, now))

    def take(self, user, cost, now):
        """Count what is taken."""
        self._taken[user] = [*self._recent(user, now), (now, cost)]

    def wait(self, user, cost, now):
        """Return the milliseconds until so much may be taken."""
        room = self.room(user, now)
        wait = 0
        for time, taken in self._recent(user, now):
            if room >= cost:
                break
            room += taken
            wait = time + self._length - now
        return wait

    def _recent(self, user, now):
        return [(time, cost) for time, cost in self._taken.get(user, []) if time + self._length > now]


class Quota:
    """So much in each period."""

    def __init__(self, limit, period):
        check_positive(limit, period)
        self.most = limit
        self._period = period
        self._taken = {}  # (user, number of the period) -> taken

    def room(self, user, now):
        """Return what may still be taken in this period."""
        return self.most - self._taken.get(self._key(user, now), 0)

    def take(self, user, cost, now):
        """Count what is taken."""
        key = self._key(user, now)
        self._taken[key] = self._taken.get(key, 0) + cost

    def wait(self, user, cost, now):
        """Return the milliseconds until so much may be taken."""
        return 0 if self.room(user, now) >= cost else self._period - now % self._period

    def _key(self, user, now):
        return (user, now // self._period)
