"""One order."""

from shop_orders import pricing
from shop_orders.errors import EmptyFault, LateFault
from shop_orders.states import after

DAYS_TO_RETURN = 14


class Order:
    """Lines, a state, and what was paid."""

    def __init__(self, customer, prices):
        self.customer = customer
        self.lines = {}
        self.percent = 0
        self.state = "draft"
        self.history = []
        self.paid = 0
        self._prices = prices

    def bill(self):
        """List what the order costs."""
        return pricing.bill(self.lines, self._prices, self.percent)

    def total(self):
        """Return what the order costs in all."""
        return self.bill()[-1][1]

    def missing(self):
        """Return what is still to be paid."""
        return self.total() - self.paid if self.state == "placed" else 0

    def do(self, event, day):
        """Let something happen."""
        state = after(self.state, event)
        self.check_day(day)
        if event == "place":
            if not self.lines:
                raise EmptyFault("an order without lines cannot be placed")
            self._prices = dict(self._prices)
        elif event == "return" and day - self.history[-1][0] > DAYS_TO_RETURN:
            raise LateFault(f"returns are possible for {DAYS_TO_RETURN} days")
        elif event == "pay":
            self.paid = self.total()
        elif event == "cancel":
            self.paid = 0
        elif event == "refund":
            self.paid = self._kept()
        self.state = state
        self.history.append((day, event, state))

    def check_day(self, day):
        """Refuse a day before the last event."""
        if self.history and day < self.history[-1][0]:
            raise ValueError(f"day {day} is before the last event")

    def _kept(self):
        """Return what stays with the shop after a refund."""
        if self.state == "lost":
            return 0
        reduced = pricing.goods(self.lines, self._prices)
        reduced -= pricing.discount(self.lines, self._prices, self.percent)
        return pricing.postage(self.lines, reduced)
