"""What a stockroom should do: the tests that judge a repair."""

from stockroom.errors import OutOfStockError, StockError, UnknownItemError
from stockroom.ledger import Ledger
from stockroom.report import monthly, packs_to_order
from stockroom.room import Stockroom


def two_items():
    room = Stockroom()
    room.add_item("nut", reorder_at=5, pack=6)
    room.add_item("axle")
    room.receive("nut", 8, 3, day=0)
    room.receive("axle", 2, 900, day=4)
    return room


def test_prices_of_three_lots_are_used_in_order():
    room = two_items()
    room.receive("nut", 4, 2, day=5)
    room.receive("nut", 4, 6, day=6)
    assert room.ship("nut", 13, day=7) == 8 * 3 + 4 * 2 + 1 * 6
    assert room.lots("nut") == [(3, 6)]
    assert room.ship("nut", 3, day=7) == 18
    assert room.lots("nut") == []


def test_lots_of_one_price_join_only_when_they_are_neighbours():
    room = two_items()
    room.receive("nut", 2, 3, day=1)
    room.receive("nut", 5, 4, day=2)
    room.receive("nut", 1, 3, day=3)
    assert room.lots("nut") == [(10, 3), (5, 4), (1, 3)]
    assert room.value() == 30 + 20 + 3 + 1800


def test_a_lot_that_is_used_up_exactly_is_gone():
    room = two_items()
    room.receive("nut", 2, 9, day=1)
    assert room.ship("nut", 8, day=2) == 24
    assert room.lots("nut") == [(2, 9)]


def test_all_that_is_available_may_be_reserved_and_shipped():
    room = two_items()
    room.reserve("nut", "x", 3)
    room.reserve("nut", "y", 5)
    assert room.available("nut") == 0
    assert room.ship("axle", 2, day=9) == 1800
    assert room.on_hand("axle") == 0


def test_a_second_reservation_adds_to_the_first():
    room = two_items()
    room.reserve("nut", "x", 2)
    room.reserve("nut", "x", 3)
    assert room.reserved("nut") == 5
    assert room.release("nut", "x") == 5
    assert room.release("nut", "x") == 0
    assert room.available("nut") == 8


def test_reserved_pieces_cannot_be_shipped_or_reserved_by_others():
    room = two_items()
    room.reserve("nut", "x", 6)
    for take in (3, 8):
        try:
            room.ship("nut", take, day=1)
        except OutOfStockError:
            assert room.on_hand("nut") == 8
        else:
            raise AssertionError("reserved pieces were shipped")
    try:
        room.reserve("nut", "y", 3)
    except OutOfStockError:
        assert room.reserved("nut") == 6
    else:
        raise AssertionError("reserved pieces were reserved again")


def test_a_reservation_is_shipped_once():
    room = two_items()
    room.reserve("nut", "x", 7)
    room.reserve("nut", "y", 1)
    assert room.ship_reserved("nut", "x", day=3) == 21
    assert room.ship_reserved("nut", "x", day=3) == 0
    assert (room.on_hand("nut"), room.reserved("nut"), room.available("nut")) == (1, 1, 0)
    assert room.ledger.entries("nut") == [(0, "nut", 8, 24), (3, "nut", -7, 21)]


def test_unknown_items_are_an_error_of_their_own():
    room = two_items()
    for attempt in ("cog", "Nut", ""):
        try:
            room.on_hand(attempt)
        except OutOfStockError:
            raise AssertionError("the wrong error") from None
        except UnknownItemError:
            pass
        else:
            raise AssertionError("an unknown item was counted")
    try:
        room.receive("cog", 1, 1, day=0)
    except StockError:
        assert room.ledger.entries("cog") == []
    else:
        raise AssertionError("an unknown item was received")


def test_senseless_numbers_change_nothing():
    room = two_items()
    refused = 0
    for quantity, price in ((0, 3), (-2, 3), (1, -1)):
        try:
            room.receive("nut", quantity, price, day=1)
        except ValueError:
            refused += 1
    for quantity in (0, -1):
        try:
            room.reserve("nut", "x", quantity)
        except ValueError:
            refused += 1
        try:
            room.ship("nut", quantity, day=1)
        except ValueError:
            refused += 1
    assert refused == 7
    assert room.ledger.entries("nut") == [(0, "nut", 8, 24)]
    room.receive("nut", 1, 0, day=2)
    assert room.lots("nut") == [(8, 3), (1, 0)]


def test_items_are_added_once_and_have_packs():
    room = two_items()
    for name, pack in (("nut", 1), ("gear", 0)):
        try:
            room.add_item(name, 0, pack)
        except ValueError:
            assert room.on_hand("nut") == 8
        else:
            raise AssertionError("it was added")
    room.add_item("gear", 0, 1)
    assert room.on_hand("gear") == 0


def test_what_to_order_counts_what_is_available():
    room = two_items()
    assert room.to_reorder() == {}
    room.reserve("nut", "x", 2)
    assert room.to_reorder() == {}
    room.reserve("nut", "x", 1)
    assert room.to_reorder() == {"nut": 6}
    room.ship("axle", 2, day=5)
    assert list(room.to_reorder().items()) == [("axle", 1), ("nut", 6)]


def test_packs_bring_stock_above_the_mark():
    assert packs_to_order(11, 10, 4) == 0
    assert packs_to_order(10, 10, 4) == 4
    assert packs_to_order(7, 10, 4) == 4
    assert packs_to_order(6, 10, 4) == 8
    assert packs_to_order(0, 10, 1) == 11


def test_entries_between_days_are_inclusive():
    ledger = Ledger()
    for day in (2, 3, 4, 5):
        ledger.record(day, "nut", day, 10 * day)
    ledger.record(3, "cog", -1, 4)
    assert ledger.entries("nut", 3, 4) == [(3, "nut", 3, 30), (4, "nut", 4, 40)]
    assert ledger.entries(since=4) == [(4, "nut", 4, 40), (5, "nut", 5, 50)]
    assert ledger.entries(until=3) == [(2, "nut", 2, 20), (3, "nut", 3, 30), (3, "cog", -1, 4)]
    assert ledger.entries("nut", since=0, until=0) == []


def test_balances_and_what_was_shipped():
    room = two_items()
    room.ship("nut", 3, day=10)
    room.receive("nut", 9, 1, day=11)
    room.ship("nut", 4, day=12)
    assert [room.ledger.balance("nut", day) for day in (-1, 0, 9, 10, 11, 12, 99)] == [0, 8, 8, 5, 14, 10, 10]
    assert room.ledger.shipped("nut", 10, 12) == 7
    assert room.ledger.shipped("nut", 11, 12) == 4
    assert room.ledger.shipped("nut", 0, 9) == 0


def test_months_have_thirty_days():
    entries = [(65, "a", -2, 8), (29, "a", 5, 20), (30, "a", 1, 4), (0, "b", 2, 6), (29, "b", -1, 3), (59, "a", -1, 4)]
    assert monthly(entries) == [(0, 7, 1, 26, 3), (1, 1, 1, 4, 4), (2, 0, 2, 0, 8)]
    assert monthly([]) == []
