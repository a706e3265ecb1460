"""What can go wrong in a stockroom."""


class StockError(Exception):
    """A request that the stock cannot meet."""


class UnknownItemError(StockError):
    """An item that was never added."""


class OutOfStockError(StockError):
    """More pieces than are available."""


def check_quantity(quantity):
    """Refuse a quantity below one."""
    if quantity < 1:
        raise ValueError(f"a quantity is at least 1, got {quantity}")
