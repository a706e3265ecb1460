"""What an order costs."""

POSTAGE = 490
FREE_FROM = 5000
MANY_PIECES = 10
MANY_PERCENT = 5


def goods(lines, prices):
    """Return what the pieces cost."""
    return sum(prices[article] * count for article, count in lines.items())


def discount(lines, prices, percent):
    """Return what is taken off, rounded down."""
    if sum(lines.values()) >= MANY_PIECES:
        percent += MANY_PERCENT
    return goods(lines, prices) * percent // 100


def postage(lines, reduced):
    """Return the postage for goods less discount."""
    if not lines or reduced >= FREE_FROM:
        return 0
    return POSTAGE


def bill(lines, prices, percent):
    """List (text, cents), the total last."""
    rows = [(f"{count} x {article}", prices[article] * count) for article, count in sorted(lines.items())]
    off = discount(lines, prices, percent)
    reduced = goods(lines, prices) - off
    sending = postage(lines, reduced)
    if off:
        rows.append(("discount", -off))
    if sending:
        rows.append(("postage", sending))
    rows.append(("total", reduced + sending))
    return rows
