"""The states of an order and what leads from one to another."""

from shop_orders.errors import StateFault

_RESULTS = {
    "cancel": "cancelled",
    "place": "placed",
    "pay": "paid",
    "ship": "shipped",
    "deliver": "delivered",
    "lose": "lost",
    "return": "returned",
    "refund": "refunded",
}
EVENTS = {
    "draft": ["cancel", "place"],
    "placed": ["cancel", "pay"],
    "paid": ["cancel", "ship"],
    "shipped": ["deliver", "lose"],
    "delivered": ["return"],
    "lost": ["refund"],
    "returned": ["refund"],
    "cancelled": [],
    "refunded": [],
}


def after(state, event):
    """Return the state that an event leads to."""
    if event not in EVENTS[state]:
        raise StateFault(state, event)
    if state == "paid" and event == "cancel":
        return "refunded"
    return _RESULTS[event]
