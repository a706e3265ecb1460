"""The interest of a month."""

from bank.account import DAYS_IN_MONTH

OVERDRAFT_RATE = 1200
_DIVISOR = 360 * 10000


def interest(account, last_day):
    """Return credit less cost for the month that ends with a day."""
    days = range(last_day - DAYS_IN_MONTH + 1, last_day + 1)
    balances = [account.balance_on(day) for day in days]
    credit = sum(balance for balance in balances if balance > 0) * account.rate
    cost = -sum(balance for balance in balances if balance < 0) * OVERDRAFT_RATE
    return credit // _DIVISOR - -(-cost // _DIVISOR)


def is_month_end(day):
    """Return whether a day is the last of its month."""
    return day % DAYS_IN_MONTH == DAYS_IN_MONTH - 1
