"""The desk: orders by number."""

from shop_orders.errors import CouponFault, StateFault
from shop_orders.order import Order


class Desk:
    """Everything that happens to orders."""

    def __init__(self, prices, coupons=None):
        self._prices = dict(prices)
        self._coupons = dict(coupons or {})
        self._orders = {}

    def set_price(self, article, cents):
        """Change what an article costs in orders that are not placed yet."""
        if cents < 0:
            raise ValueError("a price is at least 0")
        self._prices[article] = cents

    def open(self, customer):
        """Begin an order and return its number."""
        number = len(self._orders) + 1
        self._orders[number] = Order(customer, self._prices)
        return number

    def put(self, number, article, count=1):
        """Add pieces to an order, or take some away."""
        order = self._draft(number, "put")
        if article not in self._prices:
            raise KeyError(article)
        count += order.lines.get(article, 0)
        if count > 0:
            order.lines[article] = count
        else:
            order.lines.pop(article, None)

    def use_coupon(self, number, code):
        """Take a percentage off an order."""
        order = self._draft(number, "use_coupon")
        if code not in self._coupons:
            raise CouponFault(code)
        order.percent = self._coupons[code]

    def do(self, number, event, day):
        """Let something happen to an order."""
        self._orders[number].do(event, day)

    def pay(self, number, cents, day):
        """Pay a part; return what was too much."""
        order = self._orders[number]
        if cents < 1:
            raise ValueError("nothing to pay with")
        if order.state != "placed":
            raise StateFault(order.state, "pay")
        order.check_day(day)
        missing = order.missing()
        if cents < missing:
            order.paid += cents
            return 0
        order.do("pay", day)
        return cents - missing

    def total(self, number):
        """Return what an order costs."""
        return self._orders[number].total()

    def bill(self, number):
        """List what an order costs."""
        return self._orders[number].bill()

    def state(self, number):
        """Return an order's state."""
        return self._orders[number].state

    def history(self, number):
        """List (day, event, new state)."""
        return list(self._orders[number].history)

    def open_sum(self, number):
        """Return what is still to be paid."""
        return self._orders[number].missing()

    def takings(self):
        """Return what was paid and not given back."""
        return sum(order.paid for order in self._orders.values())

    def in_state(self, state):
        """List the numbers of the orders in a state."""
        return [number for number, order in self._orders.items() if order.state == state]

    def customers(self):
        """Map customers to what they have paid and not been given back."""
        sums = {}
        for order in self._orders.values():
            sums[order.customer] = sums.get(order.customer, 0) + order.paid
        return sums

    def _draft(self, number, event):
        order = self._orders[number]
        if order.state != "draft":
            raise StateFault(order.state, event)
        return order
