"""What the gate should do: the tests that everybody sees."""

from gatekeeper.errors import NeverError
from gatekeeper.gate import Gate


def test_buckets_run_empty():
    gate = Gate()
    gate.bucket("calls", 3, 1, 100)
    assert [gate.ask("ann") for _ in range(4)] == [True, True, True, False]
    assert gate.ask("bob")


def test_buckets_are_filled_again():
    gate = Gate()
    gate.bucket("calls", 2, 1, 100)
    gate.ask("ann", 2)
    gate.clock.advance(150)
    assert gate.room("ann") == {"calls": 1}
    assert gate.wait("ann", 2) == 50


def test_windows_slide():
    gate = Gate()
    gate.window("posts", 2, 1000)
    assert gate.ask("ann")
    gate.clock.advance(600)
    assert gate.ask("ann")
    assert not gate.ask("ann")
    gate.clock.advance(500)
    assert gate.ask("ann")


def test_quotas_begin_anew():
    gate = Gate()
    gate.quota("mails", 1, 1000)
    gate.clock.advance(900)
    assert gate.ask("ann")
    assert gate.wait("ann") == 100
    gate.clock.advance(100)
    assert gate.ask("ann")


def test_too_much_is_never_allowed():
    gate = Gate()
    gate.quota("mails", 5, 1000)
    try:
        gate.ask("ann", 6)
    except NeverError as error:
        assert error.rule == "mails"
    else:
        raise AssertionError("six of five")


def test_blocked_users_wait():
    gate = Gate()
    gate.block("ann", 300)
    assert not gate.ask("ann")
    assert gate.wait("ann") == 300
    assert gate.ask("bob")


def test_requests_are_counted():
    gate = Gate()
    gate.quota("mails", 1, 1000)
    gate.ask("ann")
    gate.ask("ann")
    assert (gate.log.allowed, gate.log.refused, gate.log.top(3)) == (1, 1, [("ann", 1)])
