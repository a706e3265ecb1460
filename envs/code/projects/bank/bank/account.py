"""One account and its bookings."""

from bank.errors import ClosedFault, FundsFault

DAYS_IN_MONTH = 30


class Account:
    """Bookings of (day, text, cents), in order."""

    def __init__(self, owner, limit, rate):
        if limit < 0 or rate < 0:
            raise ValueError("a limit and a rate are at least 0")
        self.owner = owner
        self.limit = limit
        self.rate = rate
        self.is_closed = False
        self._bookings = []

    def balance(self):
        """Return the sum of all bookings."""
        return sum(cents for _, _, cents in self._bookings)

    def balance_on(self, day):
        """Return the balance at the end of a day."""
        return sum(cents for when, _, cents in self._bookings if when <= day)

    def check_open(self):
        """Refuse a closed account."""
        if self.is_closed:
            raise ClosedFault(self.owner)

    def check_funds(self, cents):
        """Refuse more than what is available."""
        missing = cents - self.balance() - self.limit
        if missing > 0:
            raise FundsFault(missing)

    def book(self, day, text, cents):
        """Add a booking."""
        self._bookings.append((day, text, cents))

    def statement(self, month):
        """List (day, text, cents, balance after) of a month."""
        first = month * DAYS_IN_MONTH
        balance = self.balance_on(first - 1)
        rows = [(first, "brought forward", 0, balance)]
        for day, text, cents in self._bookings:
            if first <= day < first + DAYS_IN_MONTH:
                balance += cents
                rows.append((day, text, cents, balance))
        return rows
