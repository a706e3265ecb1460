"""The stockroom itself: receives, reserves and ships."""

from stockroom.errors import OutOfStockError, UnknownItemError, check_quantity
from stockroom.ledger import Ledger
from stockroom.lots import Lots
from stockroom.report import packs_to_order


class Item:
    """One item: its lots, and what orders have put aside."""

    def __init__(self, reorder_at, pack):
        self.reorder_at = reorder_at
        self.pack = pack
        self.lots = Lots()
        self.reservations = {}  # order -> quantity

    def reserved(self):
        """Count the pieces put aside."""
        return sum(self.reservations.values())

    def available(self):
        """Count the pieces that nobody has put aside."""
        return self.lots.quantity() - self.reserved()


class Stockroom:
    """Items by name, and a ledger of their movements."""

    def __init__(self):
        self.ledger = Ledger()
        self._items = {}

    def add_item(self, name, reorder_at=0, pack=1):
        """Make an item known."""
        if name in self._items:
            raise ValueError(f"there is an item {name!r} already")
        if pack < 1:
            raise ValueError(f"a pack has at least 1 piece, got {pack}")
        self._items[name] = Item(reorder_at, pack)

    def receive(self, name, quantity, price, day):
        """Add pieces at a price per piece."""
        item = self._item(name)
        check_quantity(quantity)
        if price < 0:
            raise ValueError(f"a price is at least 0, got {price}")
        item.lots.add(quantity, price)
        self.ledger.record(day, name, quantity, quantity * price)

    def ship(self, name, quantity, day):
        """Remove the oldest pieces and return what they cost in all."""
        item = self._item(name)
        self._check_available(item, quantity)
        return self._remove(name, quantity, day)

    def reserve(self, name, order, quantity):
        """Put pieces aside for an order, besides those that it has already."""
        item = self._item(name)
        self._check_available(item, quantity)
        item.reservations[order] = item.reservations.get(order, 0) + quantity

    def release(self, name, order):
        """Give up a reservation and return its quantity."""
        return self._item(name).reservations.pop(order, 0)

    def ship_reserved(self, name, order, day):
        """Ship what is reserved for an order and return what it cost."""
        quantity = self.release(name, order)
        if quantity == 0:
            return 0
        return self._remove(name, quantity, day)

    def on_hand(self, name):
        """Count all pieces."""
        return self._item(name).lots.quantity()

    def reserved(self, name):
        """Count the pieces put aside."""
        return self._item(name).reserved()

    def available(self, name):
        """Count the pieces that can be shipped or reserved."""
        return self._item(name).available()

    def lots(self, name):
        """List (quantity, price), the oldest first."""
        return self._item(name).lots.rows()

    def value(self):
        """Return what all pieces cost when they were received."""
        return sum(item.lots.value() for item in self._items.values())

    def to_reorder(self):
        """Map the items that run short to quantities to order."""
        wanted = {}
        for name, item in sorted(self._items.items()):
            quantity = packs_to_order(item.available(), item.reorder_at, item.pack)
            if quantity > 0:
                wanted[name] = quantity
        return wanted

    def _item(self, name):
        if name not in self._items:
            raise UnknownItemError(name)
        return self._items[name]

    def _check_available(self, item, quantity):
        check_quantity(quantity)
        if quantity > item.available():
            raise OutOfStockError(f"{quantity} wanted, {item.available()} available")

    def _remove(self, name, quantity, day):
        cost = self._items[name].lots.take(quantity)
        self.ledger.record(day, name, -quantity, cost)
        return cost
