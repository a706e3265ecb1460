"""What the desk should do: the tests that everybody sees."""

from shop_orders.desk import Desk
from shop_orders.errors import StateFault

PRICES = {"tea": 350, "pot": 2400, "cup": 600}


def ordered(desk, *articles):
    number = desk.open("ann")
    for article in articles:
        desk.put(number, article)
    return number


def test_bills():
    desk = Desk(PRICES)
    number = ordered(desk, "tea", "cup", "tea")
    assert desk.bill(number) == [("1 x cup", 600), ("2 x tea", 700), ("postage", 490), ("total", 1790)]


def test_large_orders_are_sent_for_nothing():
    desk = Desk(PRICES)
    assert desk.total(ordered(desk, "pot", "pot", "cup")) == 5400


def test_coupons_take_something_off():
    desk = Desk(PRICES, {"SPRING": 10})
    number = ordered(desk, "pot")
    desk.use_coupon(number, "SPRING")
    assert desk.total(number) == 2400 - 240 + 490


def test_the_way_to_the_customer():
    desk = Desk(PRICES)
    number = ordered(desk, "pot")
    for day, event in enumerate(("place", "pay", "ship", "deliver")):
        desk.do(number, event, day)
    assert desk.state(number) == "delivered"
    assert desk.history(number)[1] == (1, "pay", "paid")
    assert desk.takings() == 2890


def test_what_is_not_paid_is_not_sent():
    desk = Desk(PRICES)
    number = ordered(desk, "pot")
    desk.do(number, "place", 0)
    try:
        desk.do(number, "ship", 1)
    except StateFault as fault:
        assert (fault.state, fault.event) == ("placed", "ship")
    else:
        raise AssertionError("sent without payment")


def test_paying_in_parts():
    desk = Desk(PRICES)
    number = ordered(desk, "pot")
    desk.do(number, "place", 0)
    assert desk.pay(number, 2000, 1) == 0
    assert desk.open_sum(number) == 890
    assert desk.pay(number, 1000, 2) == 110
    assert desk.state(number) == "paid"


def test_returned_orders_are_refunded():
    desk = Desk(PRICES)
    number = ordered(desk, "pot")
    for event in ("place", "pay", "ship", "deliver", "return", "refund"):
        desk.do(number, event, 3)
    assert desk.takings() == 490
