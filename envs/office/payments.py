"""Payments: accounts in whole cents, payees, transfers, and payment requests both ways.

Money is conserved: an account's balance is its opening balance plus the sum of its transactions, and never below zero.
A payment that exceeds the account's balance or its daily limit is rejected. Not supported: currencies, interest, money
that arrives during a task.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from cairn.envs.office.app import App, find, require
from cairn.envs.office.calls import Address, Cents, Day, Limit, Line, Offset, Words, call, page, shown
from cairn.envs.office.clock import day_of

DIRECTIONS, STATUSES = ("incoming", "outgoing"), ("pending", "paid", "declined", "cancelled")


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """An account of the owner."""

    id: str
    name: str
    opening: int  # opening balance in cents
    balance: int  # current balance in cents: `opening` plus the sum of the transactions
    daily_limit: int  # maximum cents per day for payments to others


@dataclass(frozen=True, kw_only=True, slots=True)
class Payee:
    """A recipient of payments."""

    id: str
    name: str
    reference: str  # customer number or account, which distinguishes namesakes


@dataclass(frozen=True, kw_only=True, slots=True)
class Transaction:
    """A change of one account's balance."""

    id: str
    account: str  # id
    at: str  # moment
    amount: int  # cents, negative for outgoing money
    kind: str  # "transfer" to a payee, "own" between accounts, "request" paid, "income"
    party: str  # payee id, account id, the asker's address, or a name
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentRequest:
    """A request for money, from another person ("incoming") or from the owner ("outgoing")."""

    id: str
    direction: str
    address: str  # of the other person
    amount: int  # cents
    note: str
    made_on: str  # day
    due: str = ""  # day
    status: str = "pending"


class Payments(App):
    """Accounts, payees, transfers, and requests for money; all amounts are whole cents."""

    name = "payments"
    tables: ClassVar[tuple[str, ...]] = ("accounts", "payees", "transactions", "requests")
    derived: ClassVar = {
        "accounts": frozenset({"balance"}),  # depends on opening and transactions
        "payees": frozenset({"id"}),
        "transactions": frozenset({"id", "at"}),
        "requests": frozenset({"id", "made_on"}),
    }
    free = frozenset({("transactions", "note"), ("requests", "note")})
    titles: ClassVar = {"requests": "note"}
    accounts: dict[str, Account]
    payees: dict[str, Payee]
    transactions: dict[str, Transaction]
    requests: dict[str, PaymentRequest]

    @call
    def list_accounts(self, *, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List your accounts by name; `left_today` is the amount that may still leave for others today.

        Example: {"items": [{"id": "a-31v0q", "name": "Checking", "balance": 182050, "daily_limit": 100000,
        "left_today": 100000}], "total": 1, "next_offset": null}
        """
        accounts = sorted(self.accounts.values(), key=lambda account: (account.name, account.id))
        return page(map(self._account_json, accounts), limit, offset)

    @call
    def list_payees(self, *, query: Words = "", limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List payees by name: every word of the query occurs in the name or the reference, case ignored.

        Example: {"items": [{"id": "p-6tt1d", "name": "Brightwater Energy", "reference": "BE-20417"}], "total": 1,
        "next_offset": null}
        """
        words = query.casefold().split()
        found = [
            payee
            for payee in self.payees.values()
            if all(word in f"{payee.name}\n{payee.reference}".casefold() for word in words)
        ]
        return page(map(_payee_json, sorted(found, key=lambda payee: (payee.name, payee.id))), limit, offset)

    @call
    def add_payee(self, *, name: Line, reference: Line) -> dict[str, object]:
        """Add a payee; no two have the same reference.

        Example: {"id": "p-0dd4s"}
        """
        is_new = all(payee.reference != reference for payee in self.payees.values())
        require(is_new, f"there is a payee with the reference {shown(reference)} already")
        payee = Payee(id=self.world.new_id("p"), name=name, reference=reference)
        self.payees[payee.id] = payee
        return {"id": payee.id}

    @call
    def transfer(self, *, account_id: str, payee_id: str, amount: Cents, note: Words = "") -> dict[str, object]:
        """Pay a payee from one of your accounts.

        Example: {"transaction_id": "x-77ab2", "balance": 169550}
        """
        account = self._account(account_id)
        payee = find(self.payees, payee_id, "payee", "payments.list_payees lists them")
        self._require_money(account, amount)
        return self._book(account, -amount, "transfer", payee.id, note)

    @call
    def move_money(self, *, from_account_id: str, to_account_id: str, amount: Cents) -> dict[str, object]:
        """Move money between two accounts of yours; limits for the day do not count.

        Example: {"from_balance": 169550, "to_balance": 52500}
        """
        source, target = self._account(from_account_id), self._account(to_account_id)
        require(source.id != target.id, "from_account_id and to_account_id must differ")
        _require_balance(source, amount)
        left = self._book(source, -amount, "own", target.id, "")
        came = self._book(target, amount, "own", source.id, "")
        return {"from_balance": left["balance"], "to_balance": came["balance"]}

    @call
    def list_transactions(
        self,
        *,
        account_id: str | None = None,
        payee_id: str | None = None,
        since: Day | None = None,
        until: Day | None = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> dict[str, object]:
        """List transactions, newest first; what left has a negative amount. Both days are included.

        `kind` says what `party` is: transfer, a payee's id; own, another account's id; request, an address; income, a
        name.

        Example: {"items": [{"id": "x-77ab2", "account_id": "a-31v0q", "at": "2031-05-02T12:00", "amount": -12500,
        "kind": "transfer", "party": "p-6tt1d", "note": "May"}], "total": 1, "next_offset": null}
        """
        found = [
            each
            for each in self.transactions.values()
            if account_id in (None, each.account)
            and (payee_id is None or (each.kind, each.party) == ("transfer", payee_id))
            and (since is None or since <= day_of(each.at))
            and (until is None or day_of(each.at) <= until)
        ]
        by_id = sorted(found, key=lambda each: each.id)
        return page(map(_transaction_json, sorted(by_id, key=lambda each: each.at, reverse=True)), limit, offset)

    @call
    def list_requests(
        self,
        *,
        direction: str | None = None,
        status: str | None = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> dict[str, object]:
        """List requests for money, oldest first: incoming ones ask you, outgoing ones are yours.

        The status is pending, paid, declined or cancelled; `due` is a day, or "".

        Example: {"items": [{"id": "r-8s02k", "direction": "incoming", "address": "sam@home.example", "amount": 2450,
        "note": "Cinema", "made_on": "2031-05-01", "due": "2031-05-08", "status": "pending"}], "total": 1,
        "next_offset": null}
        """
        is_known = direction is None or direction in DIRECTIONS
        require(is_known, f"direction must be one of {', '.join(DIRECTIONS)}, or None; got {shown(direction)}")
        is_known = status is None or status in STATUSES
        require(is_known, f"status must be one of {', '.join(STATUSES)}, or None; got {shown(status)}")
        found = [
            each
            for each in self.requests.values()
            if direction in (None, each.direction) and status in (None, each.status)
        ]
        return page(map(_request_json, sorted(found, key=lambda each: (each.made_on, each.id))), limit, offset)

    @call
    def request_money(
        self, *, address: Address, amount: Cents, note: Words = "", due: Day | None = None
    ) -> dict[str, object]:
        """Ask somebody for money.

        Example: {"id": "r-41zz9"}
        """
        require(address != self.world.address, "address must be somebody else's")
        request = PaymentRequest(
            id=self.world.new_id("r"),
            direction="outgoing",
            address=address,
            amount=amount,
            note=note,
            made_on=day_of(self.world.now),
            due=due or "",
        )
        self.requests[request.id] = request
        return {"id": request.id}

    @call
    def pay_request(self, *, request_id: str, account_id: str) -> dict[str, object]:
        """Pay a pending incoming request in full.

        Example: {"transaction_id": "x-77ab2", "balance": 167100}
        """
        request = self._pending(request_id, "incoming")
        account = self._account(account_id)
        self._require_money(account, request.amount)
        booked = self._book(account, -request.amount, "request", request.address, request.note)
        self.requests[request.id] = replace(request, status="paid")
        return booked

    @call
    def decline_request(self, *, request_id: str) -> dict[str, object]:
        """Decline a pending incoming request.

        Example: {"id": "r-8s02k", "status": "declined"}
        """
        return self._close(self._pending(request_id, "incoming"), "declined")

    @call
    def cancel_request(self, *, request_id: str) -> dict[str, object]:
        """Take back a pending outgoing request.

        Example: {"id": "r-41zz9", "status": "cancelled"}
        """
        return self._close(self._pending(request_id, "outgoing"), "cancelled")

    def left_today(self, account: Account) -> int:
        """Return the cents that may still leave the account for others today."""
        today = day_of(self.world.now)
        left = sum(
            each.amount
            for each in self.transactions.values()
            if each.account == account.id and each.kind in ("transfer", "request") and day_of(each.at) == today
        )
        return account.daily_limit + left

    def _account(self, account_id: str) -> Account:
        return find(self.accounts, account_id, "account", "payments.list_accounts lists them")

    def _pending(self, request_id: str, direction: str) -> PaymentRequest:
        request = find(self.requests, request_id, "request", "payments.list_requests lists them")
        is_so = (request.direction, request.status) == (direction, "pending")
        require(is_so, f"a pending {direction} request was expected; it is {request.status} and {request.direction}")
        return request

    def _close(self, request: PaymentRequest, status: str) -> dict[str, object]:
        self.requests[request.id] = replace(request, status=status)
        return {"id": request.id, "status": status}

    def _require_money(self, account: Account, amount: int) -> None:
        _require_balance(account, amount)
        left = self.left_today(account)
        require(amount <= left, f"the account {account.name!r} may still pay {left} cents today; got {amount}")

    def _book(self, account: Account, amount: int, kind: str, party: str, note: str) -> dict[str, object]:
        booked = Transaction(
            id=self.world.new_id("x"),
            account=account.id,
            at=self.world.now,
            amount=amount,
            kind=kind,
            party=party,
            note=note,
        )
        self.transactions[booked.id] = booked
        self.accounts[account.id] = replace(account, balance=account.balance + amount)
        return {"transaction_id": booked.id, "balance": account.balance + amount}

    def _account_json(self, account: Account) -> dict[str, object]:
        return {
            "id": account.id,
            "name": account.name,
            "balance": account.balance,
            "daily_limit": account.daily_limit,
            "left_today": self.left_today(account),
        }


def _require_balance(account: Account, amount: int) -> None:
    require(
        amount <= account.balance,
        f"the account {account.name!r} has {account.balance} cents; {amount} would overdraw it",
    )


def _payee_json(payee: Payee) -> dict[str, object]:
    return {"id": payee.id, "name": payee.name, "reference": payee.reference}


def _transaction_json(each: Transaction) -> dict[str, object]:
    return {
        "id": each.id,
        "account_id": each.account,
        "at": each.at,
        "amount": each.amount,
        "kind": each.kind,
        "party": each.party,
        "note": each.note,
    }


def _request_json(each: PaymentRequest) -> dict[str, object]:
    return {
        "id": each.id,
        "direction": each.direction,
        "address": each.address,
        "amount": each.amount,
        "note": each.note,
        "made_on": each.made_on,
        "due": each.due,
        "status": each.status,
    }
