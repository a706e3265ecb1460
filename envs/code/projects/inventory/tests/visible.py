"""What a stockroom should do: the tests that everybody sees."""

from stockroom.errors import OutOfStockError
from stockroom.report import monthly
from stockroom.room import Stockroom


def stocked():
    room = Stockroom()
    room.add_item("bolt", reorder_at=10, pack=25)
    room.receive("bolt", 30, 5, day=1)
    return room


def test_received_pieces_are_on_hand():
    room = stocked()
    assert room.on_hand("bolt") == 30
    assert room.value() == 150


def test_shipping_takes_the_oldest_pieces():
    room = stocked()
    room.receive("bolt", 20, 7, day=2)
    assert room.ship("bolt", 40, day=3) == 30 * 5 + 10 * 7
    assert room.lots("bolt") == [(10, 7)]


def test_reserved_pieces_are_not_available():
    room = stocked()
    room.reserve("bolt", "A1", 12)
    assert (room.on_hand("bolt"), room.reserved("bolt"), room.available("bolt")) == (30, 12, 18)


def test_more_than_available_is_refused():
    room = stocked()
    try:
        room.ship("bolt", 31, day=2)
    except OutOfStockError:
        assert room.on_hand("bolt") == 30
    else:
        raise AssertionError("31 of 30 pieces were shipped")


def test_what_runs_short_is_ordered_in_packs():
    room = stocked()
    room.ship("bolt", 25, day=2)
    assert room.to_reorder() == {"bolt": 25}


def test_the_ledger_has_every_movement():
    room = stocked()
    room.ship("bolt", 4, day=2)
    assert room.ledger.entries() == [(1, "bolt", 30, 150), (2, "bolt", -4, 20)]


def test_sums_by_month():
    assert monthly([(3, "bolt", 10, 50), (5, "bolt", -4, 20)]) == [(0, 10, 4, 50, 20)]
