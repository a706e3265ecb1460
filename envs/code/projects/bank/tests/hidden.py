"""What a bank should do: the tests that judge a repair."""

from bank.errors import AccountFault, BankFault, ClosedFault, FundsFault
from bank.money import cents, euros
from bank.office import Bank


def three(first=0, second=0, third=0):
    """Accounts 100 to 102 of dan, eve and dan, with some money; 101 may be overdrawn by 1000."""
    bank = Bank()
    bank.open("dan")
    bank.open("eve", 1000)
    bank.open("dan", 0, 720)
    for number, amount in ((100, first), (101, second), (102, third)):
        if amount:
            bank.deposit(number, amount, 0)
    return bank


def is_value_error(ask, *arguments):
    try:
        ask(*arguments)
    except ValueError:
        return True
    return False


def test_limits_are_reached_exactly():
    bank = three(500, 200)
    bank.withdraw(100, 500, 0)
    bank.withdraw(101, 1200, 0)
    assert (bank.balance(100), bank.balance(101)) == (0, -1000)
    assert (bank.available(100), bank.available(101)) == (0, 0)


def test_what_is_missing_is_told():
    bank = three(500, 200)
    for number, amount, missing in ((100, 501, 1), (101, 1300, 100), (102, 7, 7)):
        try:
            bank.withdraw(number, amount, 3)
        except FundsFault as fault:
            assert fault.missing == missing
        else:
            raise AssertionError(number)
    try:
        bank.transfer(100, 101, 600, 4)
    except FundsFault as fault:
        assert fault.missing == 100
    assert (bank.balance(100), bank.balance(101), bank.total()) == (500, 200, 700)


def test_senseless_requests_change_nothing():
    bank = three(500)
    assert is_value_error(bank.deposit, 100, 0, 9)
    assert is_value_error(bank.withdraw, 100, -5, 9)
    assert is_value_error(bank.transfer, 100, 101, 0, 9)
    assert is_value_error(bank.transfer, 100, 100, 5, 9)
    assert is_value_error(bank.open, "x", -1)
    assert is_value_error(bank.open, "x", 0, -1)
    bank.deposit(100, 1, 2)
    assert bank.balance(100) == 501
    assert bank.open("x") == 103


def test_days_do_not_go_back():
    bank = three()
    bank.deposit(100, 10, 5)
    bank.deposit(101, 10, 5)
    assert is_value_error(bank.deposit, 102, 10, 4)
    assert is_value_error(bank.run_to, 4)
    assert is_value_error(bank.close, 102, 3)
    bank.run_to(5)
    assert is_value_error(bank.order, 100, 101, 1, 5, 1, 1)
    assert bank.order(100, 101, 1, 6, 1, 1) == 1


def test_unknown_and_closed_accounts():
    bank = three(50)
    for ask, arguments in ((bank.balance, (99,)), (bank.deposit, (103, 5, 1)), (bank.transfer, (100, 7, 5, 1))):
        try:
            ask(*arguments)
        except AccountFault:
            pass
        else:
            raise AssertionError("no such account")
    bank.close(101, 2)
    for ask, arguments in ((bank.deposit, (101, 5, 9)), (bank.transfer, (100, 101, 5, 9)), (bank.close, (101, 9))):
        try:
            ask(*arguments)
        except ClosedFault:
            pass
        else:
            raise AssertionError("it is closed")
    bank.deposit(100, 1, 3)
    assert bank.balance(101) == 0
    assert bank.total() == 51


def test_only_empty_accounts_are_closed():
    bank = three(50)
    assert is_value_error(bank.close, 100, 1)
    bank.withdraw(100, 50, 1)
    bank.close(100, 1)
    try:
        bank.withdraw(100, 1, 1)
    except BankFault:
        pass
    else:
        raise AssertionError("it is closed")


def test_balances_of_the_past():
    bank = three(50)
    bank.deposit(100, 7, 3)
    bank.withdraw(100, 20, 3)
    bank.deposit(100, 1, 8)
    assert [bank.balance_on(100, day) for day in (-1, 0, 2, 3, 7, 8, 90)] == [0, 50, 50, 37, 37, 38, 38]


def test_statements_of_every_month():
    bank = three(400)
    bank.transfer(100, 101, 30, 29)
    bank.deposit(100, 5, 30)
    bank.withdraw(100, 75, 59)
    bank.transfer(101, 100, 10, 60, "back")
    assert bank.statement(100, 0) == [
        (0, "brought forward", 0, 0),
        (0, "deposit", 400, 400),
        (29, "to 101", -30, 370),
    ]
    assert bank.statement(100, 1) == [
        (30, "brought forward", 0, 370),
        (30, "deposit", 5, 375),
        (59, "withdrawal", -75, 300),
    ]
    assert bank.statement(100, 2) == [(60, "brought forward", 0, 300), (60, "from 101: back", 10, 310)]
    assert bank.statement(101, 0) == [(0, "brought forward", 0, 0), (29, "from 100", 30, 30)]
    assert bank.statement(102, 5) == [(150, "brought forward", 0, 0)]


def test_orders_are_due_so_many_times():
    bank = three(1000)
    assert bank.order(100, 101, 100, 3, 7, 3, "save") == 1
    balances = []
    for day in (2, 3, 9, 10, 16, 17, 24, 50):
        bank.run_to(day)
        balances.append(bank.balance(101))
    assert balances == [0, 100, 100, 200, 200, 300, 300, 300]
    assert bank.statement(101, 0)[1] == (3, "from 100: save", 100, 100)


def test_orders_come_before_what_is_done_by_hand():
    bank = three(100)
    bank.order(100, 101, 60, 4, 1, 1)
    bank.deposit(102, 5, 4)
    assert bank.balance(101) == 60
    other = three(100)
    other.order(100, 101, 60, 4, 1, 1)
    try:
        other.withdraw(100, 50, 6)
    except FundsFault as fault:
        assert fault.missing == 10
    else:
        raise AssertionError("the order was forgotten")


def test_orders_are_carried_out_by_number():
    bank = three(100)
    bank.order(100, 101, 80, 5, 5, 2)
    bank.order(100, 102, 70, 5, 2, 2)
    bank.order(101, 100, 40, 6, 1, 1)
    bank.run_to(12)
    assert bank.failed() == [(5, 2, "funds"), (7, 2, "funds"), (10, 1, "funds")]
    assert [bank.balance(number) for number in (100, 101, 102)] == [60, 40, 0]


def test_orders_to_closed_accounts_fail():
    bank = three(100)
    bank.order(100, 101, 10, 5, 5, 2)
    bank.order(100, 102, 10, 5, 5, 2)
    bank.close(102, 4)
    bank.run_to(10)
    assert bank.failed() == [(5, 2, "closed"), (10, 2, "closed")]
    assert bank.balance(100) == 80


def test_senseless_orders_are_refused():
    bank = three(100)
    for every, times in ((0, 1), (1, 0), (-1, 2)):
        assert is_value_error(bank.order, 100, 101, 5, 9, every, times)
    assert is_value_error(bank.order, 100, 101, 0, 9, 1, 1)
    assert is_value_error(bank.order, 100, 100, 5, 9, 1, 1)
    assert bank.order(100, 101, 5, 9, 1, 1) == 1
    bank.run_to(9)
    assert bank.failed() == []


def test_interest_counts_days():
    bank = three(third=100000)
    bank.run_to(28)
    assert bank.balance(102) == 100000
    bank.run_to(29)
    assert bank.balance(102) == 100600
    half = three()
    half.deposit(102, 100000, 15)
    half.run_to(29)
    assert half.statement(102, 0)[-1] == (29, "interest", 300, 100300)


def test_interest_is_rounded_for_the_bank():
    bank = three()
    bank.deposit(102, 166, 0)
    bank.run_to(29)
    assert bank.balance(102) == 166
    bank.deposit(102, 1, 30)
    bank.run_to(59)
    assert bank.balance(102) == 168
    debt = three()
    debt.withdraw(101, 1, 29)
    debt.run_to(58)
    assert debt.balance(101) == -1
    debt.run_to(59)
    assert debt.balance(101) == -2


def test_overdrafts_cost_more_than_limits_allow():
    bank = three()
    bank.withdraw(101, 1000, 0)
    bank.run_to(29)
    assert bank.balance(101) == -1010
    assert bank.available(101) == -10
    assert bank.statement(101, 0)[-1] == (29, "interest", -10, -1010)


def test_interest_is_booked_after_the_orders_of_the_day():
    bank = three(third=100000)
    bank.order(102, 100, 100000, 29, 1, 1)
    bank.run_to(29)
    assert bank.balance(102) == 580
    assert bank.balance(100) == 100000
    bank.run_to(31)
    assert [row[1] for row in bank.statement(102, 0)] == ["brought forward", "deposit", "to 100", "interest"]


def test_interest_bears_interest():
    bank = three(third=1000000)
    bank.run_to(59)
    assert bank.balance(102) == 1000000 + 6000 + 6036 - 0
    assert bank.statement(102, 1) == [(30, "brought forward", 0, 1006000), (59, "interest", 6036, 1012036)]


def test_owners_have_several_accounts():
    bank = three(5, 70, 600)
    assert bank.owners() == {"dan": 605, "eve": 70}
    assert bank.total() == 675
    bank.withdraw(101, 100, 1)
    assert bank.owners() == {"dan": 605, "eve": -30}
    assert Bank().owners() == {}


def test_amounts_of_all_sizes():
    assert [euros(amount) for amount in (0, 5, 99, 100, -40, -123456789)] == [
        "0.00",
        "0.05",
        "0.99",
        "1.00",
        "-0.40",
        "-1,234,567.89",
    ]
    assert [cents(text) for text in ("0.05", "-0.40", "1234.50", "12,345.00")] == [5, -40, 123450, 1234500]
    for text in ("1", "1.5", "1,23.00", ",123.00", "1.234", "+1.00", "", "1234,567.00"):
        assert is_value_error(cents, text)
