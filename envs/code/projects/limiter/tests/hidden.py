"""What the gate should do: the tests that judge a repair."""

from gatekeeper.errors import NeverError
from gatekeeper.gate import Gate


def gate_with(kind, *numbers):
    gate = Gate()
    if kind == "bucket":
        gate.bucket("r", *numbers)
    elif kind == "window":
        gate.window("r", *numbers)
    else:
        gate.quota("r", *numbers)
    return gate


def answers(gate, user, *steps):
    """Ask after each number of milliseconds."""
    said = []
    for ms in steps:
        gate.clock.advance(ms)
        said.append(gate.ask(user))
    return said


def is_value_error(ask, *arguments):
    try:
        ask(*arguments)
    except ValueError:
        return True
    return False


def test_buckets_keep_the_rest_of_the_time():
    gate = gate_with("bucket", 4, 2, 100)
    gate.ask("u", 4)
    gate.clock.advance(70)
    assert gate.room("u") == {"r": 0}
    gate.clock.advance(70)
    assert gate.room("u") == {"r": 2}
    gate.clock.advance(60)
    assert gate.room("u") == {"r": 4}


def test_buckets_do_not_overflow():
    gate = gate_with("bucket", 5, 3, 10)
    gate.ask("u", 1)
    gate.clock.advance(95)
    assert gate.room("u") == {"r": 5}
    gate.ask("u", 5)
    gate.clock.advance(4)
    assert gate.room("u") == {"r": 0}
    gate.clock.advance(1)
    assert gate.room("u") == {"r": 3}


def test_buckets_begin_with_the_first_request():
    gate = gate_with("bucket", 2, 1, 100)
    gate.clock.advance(60)
    assert gate.ask("u", 2)
    gate.clock.advance(99)
    assert not gate.ask("u")
    gate.clock.advance(1)
    assert gate.ask("u")


def test_waiting_for_several_refills():
    gate = gate_with("bucket", 10, 3, 50)
    gate.ask("u", 9)
    assert [gate.wait("u", cost) for cost in (1, 2, 4, 5, 7, 8, 10)] == [0, 50, 50, 100, 100, 150, 150]
    gate.clock.advance(20)
    assert gate.wait("u", 5) == 80
    gate.clock.advance(80)
    assert gate.wait("u", 5) == 0
    assert gate.wait("other", 10) == 0


def test_windows_forget_in_time():
    gate = gate_with("window", 2, 100)
    assert answers(gate, "u", 0, 30, 69, 1, 29, 1) == [True, True, False, True, False, True]


def test_windows_count_costs():
    gate = gate_with("window", 10, 100)
    assert gate.ask("u", 6)
    gate.clock.advance(10)
    assert gate.ask("u", 3)
    assert gate.room("u") == {"r": 1}
    assert not gate.ask("u", 2)
    assert gate.ask("u", 1)
    assert [gate.wait("u", cost) for cost in (1, 6, 7, 10)] == [90, 90, 100, 100]
    gate.clock.advance(90)
    assert gate.room("u") == {"r": 6}
    assert gate.room("v") == {"r": 10}


def test_quotas_have_periods_of_the_clock():
    gate = gate_with("quota", 2, 100)
    assert answers(gate, "u", 99, 0, 0, 1, 50) == [True, True, False, True, True]
    assert gate.wait("u") == 50
    assert gate.wait("u", 2) == 50
    assert gate.wait("v", 2) == 0
    gate.clock.advance(50)
    assert gate.room("u") == {"r": 2}
    assert gate.wait("u", 2) == 0


def test_all_rules_must_have_room():
    gate = Gate()
    gate.quota("day", 3, 1000)
    gate.bucket("burst", 2, 1, 10)
    assert gate.ask("u", 2)
    assert not gate.ask("u")
    assert gate.room("u") == {"day": 1, "burst": 0}
    gate.clock.advance(10)
    assert gate.ask("u")
    gate.clock.advance(20)
    assert not gate.ask("u", 2)
    assert gate.room("u") == {"day": 0, "burst": 2}
    assert gate.wait("u", 2) == 970


def test_what_is_never_possible_counts_nowhere():
    gate = Gate()
    gate.window("small", 4, 100)
    gate.bucket("smaller", 3, 1, 100)
    for cost, rule in ((5, "small"), (4, "smaller")):
        for ask in (gate.ask, gate.wait):
            try:
                ask("u", cost)
            except NeverError as error:
                assert error.rule == rule
            else:
                raise AssertionError(cost)
    assert gate.room("u") == {"small": 4, "smaller": 3}
    assert gate.log.of("u") == (0, 0)
    assert gate.ask("u", 3)


def test_senseless_numbers():
    gate = Gate()
    assert is_value_error(gate.bucket, "a", 0, 1, 1)
    assert is_value_error(gate.bucket, "a", 1, 0, 1)
    assert is_value_error(gate.bucket, "a", 1, 1, 0)
    assert is_value_error(gate.window, "a", 0, 1)
    assert is_value_error(gate.window, "a", 1, 0)
    assert is_value_error(gate.quota, "a", 0, 1)
    assert is_value_error(gate.quota, "a", 1, 0)
    assert is_value_error(gate.ask, "u", 0)
    assert is_value_error(gate.wait, "u", -1)
    assert is_value_error(gate.block, "u", 0)
    assert is_value_error(gate.clock.advance, -1)
    gate.quota("a", 1, 1)
    assert is_value_error(gate.window, "a", 5, 5)
    assert (gate.room("u"), gate.clock.now) == ({"a": 1}, 0)


def test_blocks_end_in_time():
    gate = gate_with("quota", 9, 10000)
    gate.block("u", 50)
    assert answers(gate, "u", 0, 49, 1) == [False, False, True]
    gate.block("u", 80)
    gate.block("u", 20)
    assert gate.wait("u") == 80
    assert gate.room("u") == {"r": 8}
    assert gate.unblock("u")
    assert not gate.unblock("u")
    assert gate.ask("u")
    gate.block("u", 5)
    gate.clock.advance(5)
    assert not gate.unblock("u")


def test_the_longer_wait_counts():
    gate = gate_with("window", 1, 100)
    gate.ask("u")
    gate.block("u", 30)
    assert gate.wait("u") == 100
    gate.block("u", 130)
    assert gate.wait("u") == 130
    assert Gate().wait("nobody", 99) == 0


def test_the_fifth_refusal_blocks():
    gate = gate_with("window", 1, 10)
    assert answers(gate, "u", 0, 1, 1, 1, 1) == [True, False, False, False, False]
    assert gate.wait("u") == 6
    assert gate.wait("v") == 0
    assert not gate.ask("u")
    assert gate.wait("u") == 1000
    assert answers(gate, "u", 999, 1) == [False, True]


def test_an_allowed_request_begins_the_row_anew():
    gate = gate_with("window", 1, 10)
    assert answers(gate, "u", 0, 1, 1, 1, 1, 6, 1, 1, 1, 1) == [True] + [False] * 4 + [True] + [False] * 4
    assert gate.wait("u") == 6
    assert not gate.ask("u")
    assert gate.wait("u") == 1000


def test_refusals_while_blocked_are_not_in_the_row():
    gate = gate_with("quota", 1, 3000)
    gate.ask("u")
    answers(gate, "u", 0, 0, 0)
    gate.block("u", 100)
    answers(gate, "u", 0, 0, 0, 0)
    assert gate.wait("u") == 3000
    gate.clock.advance(100)
    answers(gate, "u", 0, 0, 0, 0)
    gate.clock.advance(2900)
    assert gate.ask("u")


def test_the_log_tells_users_and_times_apart():
    gate = gate_with("quota", 2, 100)
    for user in ("cy", "al", "cy", "cy", "bo", "al", "al", "cy", "bo", "bo"):
        gate.ask(user)
        gate.clock.advance(5)
    assert gate.log.of("cy") == (2, 2)
    assert gate.log.of("al") == (2, 1)
    assert gate.log.of("zo") == (0, 0)
    assert gate.log.top(9) == [("cy", 2), ("al", 1), ("bo", 1)]
    assert gate.log.top(2) == [("cy", 2), ("al", 1)]
    assert (gate.log.allowed, gate.log.refused) == (6, 4)
    assert gate.log.since(35) == (1, 2)
    assert gate.log.since(36) == (1, 1)
    assert gate.log.since(46) == (0, 0)
