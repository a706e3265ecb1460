"""What the desk should do: the tests that judge a repair."""

from shop_orders.desk import Desk
from shop_orders.errors import CouponFault, EmptyFault, LateFault, OrderFault, StateFault
from shop_orders.pricing import bill, discount
from shop_orders.states import EVENTS, after

PRICES = {"nib": 33, "ink": 999, "pen": 4999, "pad": 1}
COUPONS = {"A": 15, "B": 3}


def opened(*lines, customer="bo"):
    desk = Desk(dict(PRICES), COUPONS)
    add(desk, customer, *lines)
    return desk


def add(desk, customer, *lines):
    number = desk.open(customer)
    for article, count in lines:
        desk.put(number, article, count)
    return number


def go(desk, number, *events, day=0):
    for event in events:
        desk.do(number, event, day)
    return desk.state(number)


def impossible(desk, number, event, day=0):
    try:
        desk.do(number, event, day)
    except StateFault as fault:
        return fault.event == event and fault.state == desk.state(number)
    return False


def test_every_state_knows_what_is_possible():
    assert EVENTS == {
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
    reached = {after(state, event) for state, events in EVENTS.items() for event in events}
    assert reached == set(EVENTS) - {"draft"}


def test_cancelling_leads_to_two_states():
    assert [after(state, "cancel") for state in ("draft", "placed", "paid")] == ["cancelled", "cancelled", "refunded"]
    assert after("lost", "refund") == "refunded"


def test_what_is_impossible_changes_nothing():
    desk = opened(("nib", 2))
    assert impossible(desk, 1, "pay")
    assert impossible(desk, 1, "refund")
    assert go(desk, 1, "place", "pay", "ship") == "shipped"
    for event in ("cancel", "return", "refund", "place", "dance"):
        assert impossible(desk, 1, event)
    assert len(desk.history(1)) == 3
    assert go(desk, 1, "lose", "refund") == "refunded"
    assert impossible(desk, 1, "refund")


def test_postage_ends_at_fifty():
    desk = opened(("pen", 1))
    assert desk.total(1) == 4999 + 490
    desk.put(1, "pad")
    assert desk.total(1) == 5000
    assert desk.bill(1) == [("1 x pad", 1), ("1 x pen", 4999), ("total", 5000)]


def test_postage_looks_at_goods_less_discount():
    desk = opened(("pen", 1), ("ink", 1))
    desk.use_coupon(1, "A")
    assert desk.bill(1)[2:] == [("discount", -899), ("total", 5099)]
    desk.use_coupon(1, "B")
    assert desk.total(1) == 5998 - 179
    small = opened(("pen", 1), ("pad", 9))
    assert small.total(1) == 5008 - 250 + 490


def test_discounts_are_rounded_down():
    assert discount({"nib": 1}, PRICES, 3) == 0
    assert discount({"nib": 2}, PRICES, 3) == 1
    assert discount({"ink": 1}, PRICES, 15) == 149
    assert bill({"nib": 1}, PRICES, 3) == [("1 x nib", 33), ("postage", 490), ("total", 523)]


def test_many_pieces_are_cheaper():
    assert discount({"nib": 9}, PRICES, 0) == 0
    assert discount({"nib": 10}, PRICES, 0) == 16
    assert discount({"nib": 6, "pad": 4}, PRICES, 0) == 10
    assert discount({"nib": 10}, PRICES, 15) == 66


def test_lines_are_added_up():
    desk = opened(("nib", 3), ("ink", 1), ("nib", -1))
    assert desk.bill(1)[:2] == [("1 x ink", 999), ("2 x nib", 66)]
    desk.put(1, "nib", -5)
    desk.put(1, "ink", -1)
    assert desk.bill(1) == [("total", 0)]
    desk.put(1, "ink", -1)
    assert desk.total(1) == 0


def test_only_drafts_are_changed():
    desk = opened(("nib", 3))
    go(desk, 1, "place")
    for change, what in ((desk.put, "ink"), (desk.use_coupon, "A")):
        try:
            change(1, what)
        except StateFault as fault:
            assert fault.state == "placed"
        else:
            raise AssertionError("changed after placing")
    assert desk.total(1) == 99 + 490


def test_unknown_things():
    desk = opened(("nib", 3))
    try:
        desk.use_coupon(1, "Z")
    except CouponFault:
        assert desk.total(1) == 589
    else:
        raise AssertionError("no such coupon")
    for ask, arguments in ((desk.put, (1, "oil")), (desk.total, (2,)), (desk.do, (0, "place", 0))):
        try:
            ask(*arguments)
        except KeyError:
            pass
        else:
            raise AssertionError("no such thing")


def test_empty_orders_are_not_placed():
    desk = opened()
    try:
        desk.do(1, "place", 0)
    except EmptyFault:
        assert desk.state(1) == "draft"
    else:
        raise AssertionError("there is nothing in it")
    assert go(desk, 1, "cancel") == "cancelled"


def test_prices_are_kept_from_placing_on():
    desk = Desk({"nib": 40})
    first, second = add(desk, "bo", ("nib", 2)), add(desk, "bo", ("nib", 2))
    desk.do(first, "place", 0)
    desk.set_price("nib", 70)
    assert (desk.total(first), desk.total(second)) == (570, 630)
    desk.do(first, "pay", 1)
    assert desk.takings() == 570
    try:
        desk.set_price("oil", -1)
    except ValueError:
        desk.set_price("oil", 0)
    desk.put(second, "oil", 2)
    assert desk.bill(second)[1] == ("2 x oil", 0)


def test_parts_add_up():
    desk = opened(("ink", 1))
    go(desk, 1, "place", day=2)
    assert desk.open_sum(1) == 1489
    assert [desk.pay(1, 500, 3), desk.pay(1, 988, 4)] == [0, 0]
    assert (desk.open_sum(1), desk.takings(), desk.state(1)) == (1, 1488, "placed")
    assert desk.pay(1, 1, 6) == 0
    assert desk.history(1) == [(2, "place", "placed"), (6, "pay", "paid")]
    assert (desk.open_sum(1), desk.takings()) == (0, 1489)
    try:
        desk.pay(1, 5, 7)
    except StateFault as fault:
        assert (fault.state, fault.event) == ("paid", "pay")
    else:
        raise AssertionError("paid twice")


def test_too_much_is_given_back():
    desk = opened(("ink", 1))
    assert desk.open_sum(1) == 0
    go(desk, 1, "place")
    assert desk.pay(1, 489, 0) == 0
    assert desk.pay(1, 2000, 0) == 1000
    assert desk.takings() == 1489
    for cents in (0, -5):
        try:
            desk.pay(1, cents, 0)
        except ValueError:
            pass
        else:
            raise AssertionError("paid with nothing")


def test_cancelling_gives_back_everything():
    desk = opened(("ink", 1))
    go(desk, 1, "place")
    desk.pay(1, 300, 0)
    assert go(desk, 1, "cancel") == "cancelled"
    assert (desk.takings(), desk.open_sum(1)) == (0, 0)
    number = add(desk, "bo", ("nib", 1))
    assert go(desk, number, "place", "pay", "cancel") == "refunded"
    assert desk.takings() == 0


def test_returns_within_two_weeks():
    desk = opened(("pen", 1))
    go(desk, 1, "place", "pay", "ship", day=1)
    go(desk, 1, "deliver", day=10)
    try:
        desk.do(1, "return", 25)
    except LateFault:
        assert desk.state(1) == "delivered"
    else:
        raise AssertionError("returned too late")
    assert go(desk, 1, "return", day=24) == "returned"
    assert desk.takings() == 5489
    go(desk, 1, "refund", day=40)
    assert desk.takings() == 490


def test_what_stays_after_refunds():
    desk = opened(("pen", 2))
    go(desk, 1, "place", "pay", "ship", "deliver", "return", "refund")
    assert desk.takings() == 0
    number = add(desk, "cy", ("nib", 1))
    go(desk, number, "place", "pay", "ship", "lose")
    assert desk.takings() == 523
    go(desk, number, "refund")
    assert desk.takings() == 0


def test_days_do_not_go_back():
    desk = opened(("pen", 1))
    go(desk, 1, "place", day=5)
    for ask, what in ((desk.do, "cancel"), (desk.pay, 5)):
        try:
            ask(1, what, 4)
        except ValueError:
            assert desk.state(1) == "placed"
        else:
            raise AssertionError("the day before")
    assert desk.takings() == 0
    assert go(desk, 1, "pay", day=5) == "paid"


def test_orders_of_several_customers():
    desk = opened(("nib", 1))
    for customer in ("cy", "bo", "di"):
        add(desk, customer, ("ink", 1))
    go(desk, 3, "place", "pay")
    go(desk, 1, "place")
    go(desk, 2, "place")
    desk.pay(2, 7, 0)
    desk.pay(1, 20, 0)
    assert desk.customers() == {"bo": 1509, "cy": 7, "di": 0}
    assert desk.in_state("placed") == [1, 2]
    assert desk.in_state("draft") == [4]
    assert desk.in_state("lost") == []


def test_all_faults_are_of_one_family():
    desk = opened()
    caught = 0
    for event in ("ship", "place"):
        try:
            desk.do(1, event, 0)
        except OrderFault:
            caught += 1
    assert caught == 2
