"""What was asked, and what was said."""


class Log:
    """Requests as (time, user, whether it was allowed)."""

    def __init__(self):
        self._requests = []

    @property
    def allowed(self):
        """Count the allowed requests."""
        return self.since(0)[0]

    @property
    def refused(self):
        """Count the refused requests."""
        return self.since(0)[1]

    def add(self, time, user, is_allowed):
        """Note a request."""
        self._requests.append((time, user, is_allowed))

    def of(self, user):
        """Return (allowed, refused) of one user."""
        return _counts([request for request in self._requests if request[1] == user])

    def since(self, ms):
        """Return (allowed, refused) from a time on."""
        return _counts([request for request in self._requests if request[0] >= ms])

    def top(self, number):
        """List (user, refused) of the users that were refused most often."""
        refused = {}
        for _, user, is_allowed in self._requests:
            if not is_allowed:
                refused[user] = refused.get(user, 0) + 1
        return sorted(refused.items(), key=lambda pair: (-pair[1], pair[0]))[:number]


def _counts(requests):
    allowed = sum(1 for _, _, is_allowed in requests if is_allowed)
    return (allowed, len(requests) - allowed)
