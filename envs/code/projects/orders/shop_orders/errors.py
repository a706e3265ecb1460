"""What cannot be done with an order."""


class OrderFault(Exception):
    """A request that an order refuses."""


class StateFault(OrderFault):
    """An event that is not possible in a state."""

    def __init__(self, state, event):
        super().__init__(f"cannot {event} when {state}")
        self.state = state
        self.event = event


class EmptyFault(OrderFault):
    """An order without lines."""


class LateFault(OrderFault):
    """A return after the last day."""


class CouponFault(OrderFault):
    """A code that is not known."""
