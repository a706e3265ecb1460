"""What a bank should do: the tests that everybody sees."""

from bank.errors import FundsFault
from bank.money import cents, euros
from bank.office import Bank


def opened():
    bank = Bank()
    bank.open("ann")
    bank.open("bob", limit=5000)
    bank.deposit(100, 20000, day=0)
    return bank


def test_money_is_moved():
    bank = opened()
    bank.transfer(100, 101, 7500, 1, "rent")
    assert (bank.balance(100), bank.balance(101)) == (12500, 7500)
    assert bank.total() == 20000


def test_accounts_have_limits():
    bank = opened()
    bank.withdraw(101, 5000, 1)
    try:
        bank.withdraw(101, 1, 2)
    except FundsFault as fault:
        assert fault.missing == 1
    else:
        raise AssertionError("beyond the limit")


def test_statements():
    bank = opened()
    bank.transfer(100, 101, 7500, 31, "rent")
    assert bank.statement(100, 1) == [(30, "brought forward", 0, 20000), (31, "to 101: rent", -7500, 12500)]


def test_standing_orders_are_carried_out():
    bank = opened()
    bank.order(100, 101, 3000, 5, every=10, times=3)
    bank.run_to(15)
    assert bank.balance(101) == 6000
    bank.run_to(60)
    assert bank.balance(101) == 9000


def test_orders_may_fail():
    bank = opened()
    bank.order(100, 101, 15000, 1, every=1, times=2)
    bank.run_to(3)
    assert bank.failed() == [(2, 1, "funds")]


def test_interest_is_booked_at_the_end_of_a_month():
    bank = Bank()
    number = bank.open("cat", rate=360)
    bank.deposit(number, 100000, 0)
    bank.run_to(29)
    assert bank.balance(number) == 100300


def test_amounts_are_written_and_read():
    assert euros(123405) == "1,234.05"
    assert cents("1,234.05") == 123405
