"""The gate: rules, users, and who is blocked."""

from gatekeeper.clock import Clock
from gatekeeper.errors import NeverError, check_positive
from gatekeeper.log import Log
from gatekeeper.rules import Bucket, Quota, Window

PENALTY = 1000
REFUSALS = 5


class Gate:
    """Requests pass if every rule has room for them."""

    def __init__(self):
        self.clock = Clock()
        self.log = Log()
        self._rules = {}
        self._free_at = {}  # user -> when a block ends
        self._in_a_row = {}  # user -> refused requests

    def bucket(self, name, size, refill, every):
        """Add a rule of tokens that come back."""
        self._add(name, Bucket(size, refill, every))

    def window(self, name, limit, length):
        """Add a rule of so much in any length of time."""
        self._add(name, Window(limit, length))

    def quota(self, name, limit, period):
        """Add a rule of so much in each period."""
        self._add(name, Quota(limit, period))

    def ask(self, user, cost=1):
        """Return whether a request is allowed, and count it."""
        self._check(cost)
        now = self.clock.now
        is_blocked = self._blocked(user) > 0
        is_allowed = not is_blocked and all(rule.room(user, now) >= cost for rule in self._rules.values())
        self.log.add(now, user, is_allowed)
        if is_allowed:
            for rule in self._rules.values():
                rule.take(user, cost, now)
            self._in_a_row[user] = 0
        elif not is_blocked:
            self._in_a_row[user] = self._in_a_row.get(user, 0) + 1
            if self._in_a_row[user] == REFUSALS:
                self.block(user, PENALTY)
        return is_allowed

    def wait(self, user, cost=1):
        """Return the milliseconds until a request would be allowed."""
        self._check(cost)
        now = self.clock.now
        return max([self._blocked(user), *(rule.wait(user, cost, now) for rule in self._rules.values())])

    def room(self, user):
        """Map each rule to what it has room for."""
        return {name: rule.room(user, self.clock.now) for name, rule in self._rules.items()}

    def block(self, user, ms):
        """Refuse everything for some time."""
        check_positive(ms)
        self._free_at[user] = max(self._free_at.get(user, 0), self.clock.now + ms)
        self._in_a_row[user] = 0

    def unblock(self, user):
        """End a block; return whether there was one."""
        return self._free_at.pop(user, 0) > self.clock.now

    def _add(self, name, rule):
        if name in self._rules:
            raise ValueError(f"there is a rule {name!r} already")
        self._rules[name] = rule

    def _check(self, cost):
        check_positive(cost)
        for name, rule in self._rules.items():
            if cost > rule.most:
                raise NeverError(name)

    def _blocked(self, user):
        return max(0, self._free_at.get(user, 0) - self.clock.now)
