"""The bank: accounts by number, and the days that pass."""

from bank.account import Account
from bank.errors import AccountFault, ClosedFault, FundsFault
from bank.interest import interest, is_month_end
from bank.orders import Order

_FIRST_NUMBER = 100


class Bank:
    """Everything happens on the last day seen, or later."""

    def __init__(self):
        self._accounts = {}
        self._orders = []
        self._failed = []
        self._day = -1  # the last day whose standing orders and interest are done

    def open(self, owner, limit=0, rate=0):
        """Open an account and return its number."""
        number = _FIRST_NUMBER + len(self._accounts)
        self._accounts[number] = Account(owner, limit, rate)
        return number

    def deposit(self, number, cents, day):
        """Pay money in."""
        account = self._checked(cents, day, number)[0]
        self.run_to(day)
        account.book(day, "deposit", cents)

    def withdraw(self, number, cents, day):
        """Pay money out."""
        account = self._checked(cents, day, number)[0]
        self.run_to(day)
        account.check_funds(cents)
        account.book(day, "withdrawal", -cents)

    def transfer(self, source, target, cents, day, text=""):
        """Move money from one account to another."""
        self._checked(cents, day, source, target)
        self.run_to(day)
        self._move(source, target, cents, day, text)

    def order(self, source, target, cents, day, every, times, text=""):
        """Give a standing order and return its number."""
        self._checked(cents, day, source, target)
        if day <= self._day:
            raise ValueError("a standing order begins on a later day")
        self._orders.append(Order(source, target, cents, day, every, times, text))
        return len(self._orders)

    def close(self, number, day):
        """Close an empty account."""
        account = self._checked(1, day, number)[0]
        self.run_to(day)
        if account.balance() != 0:
            raise ValueError("an account is closed when it is empty")
        account.is_closed = True

    def run_to(self, day):
        """Let the days pass, up to and including one."""
        self._check_day(day)
        while self._day < day:
            self._day += 1
            for number, order in enumerate(self._orders, start=1):
                if order.is_due(self._day):
                    self._carry_out(number, order)
            if is_month_end(self._day):
                self._book_interest()

    def balance(self, number):
        """Return an account's balance."""
        return self._account(number).balance()

    def balance_on(self, number, day):
        """Return an account's balance at the end of a day."""
        return self._account(number).balance_on(day)

    def available(self, number):
        """Return how much can be taken out."""
        account = self._account(number)
        return account.balance() + account.limit

    def statement(self, number, month):
        """List a month's bookings."""
        return self._account(number).statement(month)

    def failed(self):
        """List (day, order, kind) of what could not be carried out."""
        return list(self._failed)

    def total(self):
        """Return the sum of all balances."""
        return sum(account.balance() for account in self._accounts.values())

    def owners(self):
        """Map owners to the sums of their balances."""
        sums = {}
        for account in self._accounts.values():
            sums[account.owner] = sums.get(account.owner, 0) + account.balance()
        return sums

    def _account(self, number):
        if number not in self._accounts:
            raise AccountFault(number)
        return self._accounts[number]

    def _check_day(self, day):
        if day < self._day:
            raise ValueError(f"day {day} has passed")

    def _checked(self, cents, day, *numbers):
        """Return accounts after checking all that can be checked before the days pass."""
        if cents < 1:
            raise ValueError("at least one cent")
        self._check_day(day)
        accounts = [self._account(number) for number in numbers]
        if len(set(numbers)) < len(numbers):
            raise ValueError("two accounts expected")
        for account in accounts:
            account.check_open()
        return accounts

    def _move(self, source, target, cents, day, text):
        giver, taker = self._accounts[source], self._accounts[target]
        giver.check_open()
        taker.check_open()
        giver.check_funds(cents)
        ending = f": {text}" if text else ""
        giver.book(day, f"to {target}{ending}", -cents)
        taker.book(day, f"from {source}{ending}", cents)

    def _carry_out(self, number, order):
        try:
            self._move(order.source, order.target, order.cents, self._day, order.text)
        except FundsFault:
            self._failed.append((self._day, number, "funds"))
        except ClosedFault:
            self._failed.append((self._day, number, "closed"))

    def _book_interest(self):
        accounts = [account for account in self._accounts.values() if not account.is_closed]
        amounts = [(account, interest(account, self._day)) for account in accounts]
        for account, amount in amounts:
            if amount != 0:
                account.book(self._day, "interest", amount)
