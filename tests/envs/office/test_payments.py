"""Payments: each call's result and errors in a tiny office, and conservation of money under any calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.envs.office.calls import OfficeError
from cairn.envs.office.generator import populate
from cairn.envs.office.world import World
from tests.envs.office.refusals import ids, refused
from tests.envs.office.tiny import ANA, SAM, ZOE, tiny


def call(world: World, name: str, /, **arguments: object) -> Any:
    return world.call("payments", name, arguments)


def test_accounts_and_payees_are_listed() -> None:
    checking = {"id": "a1", "name": "Checking", "balance": 9_000, "daily_limit": 5_000, "left_today": 5_000}
    assert call(tiny(), "list_accounts", limit=1) == {"items": [checking], "total": 2, "next_offset": 1}
    assert ids(call(tiny(), "list_payees", query="GAS g-2")) == ["p2"]
    assert call(tiny(), "list_payees", limit=1)["items"] == [{"id": "p1", "name": "Gas", "reference": "G-1"}]


def test_payees_differ_by_reference() -> None:
    world = tiny()
    key = call(world, "add_payee", name="Gas", reference="G-3")["id"]
    assert world.payments.payees[key].reference == "G-3"
    refused(world, "payments", "add_payee", "reference 'G-1' already", name="Gas", reference="G-1")


def test_a_transfer_leaves_the_account_within_its_limit_for_the_day() -> None:
    world = tiny()
    reported = call(world, "transfer", account_id="a1", payee_id="p2", amount=4_000, note="May")
    assert reported == {"transaction_id": reported["transaction_id"], "balance": 5_000}
    assert call(world, "list_transactions", payee_id="p2")["items"] == [
        {"id": reported["transaction_id"], "account_id": "a1", "at": world.now, "amount": -4_000, "kind": "transfer",
         "party": "p2", "note": "May"}
    ]  # fmt: skip
    assert call(world, "list_accounts")["items"][0]["left_today"] == 1_000
    to = {"account_id": "a1", "payee_id": "p1"}
    refused(world, "payments", "transfer", "may still pay 1000 cents today; got 1001", amount=1_001, **to)
    refused(world, "payments", "pay_request", "may still pay 1000", request_id="r1", account_id="a1")
    refused(world, "payments", "transfer", "has 5000 cents; 5001 would overdraw it", amount=5_001, **to)
    refused(world, "payments", "transfer", "from 1 to 10000000", amount=0, **to)
    refused(world, "payments", "transfer", "cents", amount=-5, **to)
    refused(world, "payments", "transfer", "cents", amount=1.5, **to)
    refused(world, "payments", "transfer", "no payee 'p9'", account_id="a1", payee_id="p9", amount=1)
    refused(world, "payments", "transfer", "no account 'a9'", account_id="a9", payee_id="p1", amount=1)
    assert call(world, "transfer", amount=1_000, **to)["balance"] == 4_000


def test_money_moves_between_own_accounts_without_a_limit() -> None:
    world = tiny()
    reported = call(world, "move_money", from_account_id="a1", to_account_id="a2", amount=9_000)
    assert reported == {"from_balance": 0, "to_balance": 9_070}
    assert [each["amount"] for each in call(world, "list_transactions", since="2031-05-05")["items"]] in (
        [9_000, -9_000],
        [-9_000, 9_000],  # of one moment: by id
    )
    refused(world, "payments", "move_money", "must differ", from_account_id="a2", to_account_id="a2", amount=1)
    refused(world, "payments", "move_money", "overdraw", from_account_id="a1", to_account_id="a2", amount=1)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["x1", "x2"]),
        ({"account_id": "a2"}, []),
        ({"payee_id": "p1"}, ["x1"]),
        ({"until": "2031-05-03"}, ["x2"]),
        ({"since": "2031-05-04"}, ["x1"]),
    ],
)
def test_transactions_are_listed_newest_first(arguments: dict[str, object], expected: list[str]) -> None:
    assert ids(call(tiny(), "list_transactions", **arguments)) == expected


def test_requests_are_listed_oldest_first() -> None:
    assert ids(call(tiny(), "list_requests")) == ["r3", "r1", "r2"]
    assert ids(call(tiny(), "list_requests", direction="incoming", status="pending")) == ["r1"]
    refused(tiny(), "payments", "list_requests", "incoming, outgoing, or None; got 'in'", direction="in")
    refused(tiny(), "payments", "list_requests", "pending, paid, declined, cancelled, or None", status="open")


def test_asking_for_money() -> None:
    world = tiny()
    key = call(world, "request_money", address=SAM, amount=700, note="Taxi", due="2031-06-01")["id"]
    request = world.payments.requests[key]
    assert (request.direction, request.status, request.made_on, request.due) == (
        "outgoing", "pending", "2031-05-05", "2031-06-01",
    )  # fmt: skip
    refused(world, "payments", "request_money", "somebody else's", address=ANA, amount=1)


def test_paying_declining_and_cancelling_requests() -> None:
    world = tiny()
    reported = call(world, "pay_request", request_id="r1", account_id="a1")
    assert reported["balance"] == 6_550
    booked = world.payments.transactions[reported["transaction_id"]]
    assert (booked.amount, booked.kind, booked.party, booked.note) == (-2_450, "request", SAM, "Cinema")
    assert world.payments.requests["r1"].status == "paid"
    refused(world, "payments", "pay_request", "it is paid and incoming", request_id="r1", account_id="a1")
    refused(world, "payments", "decline_request", "it is paid and incoming", request_id="r1")
    refused(world, "payments", "pay_request", "pending and outgoing", request_id="r2", account_id="a1")
    assert call(world, "cancel_request", request_id="r2") == {"id": "r2", "status": "cancelled"}
    world = tiny()
    assert call(world, "decline_request", request_id="r1") == {"id": "r1", "status": "declined"}
    refused(world, "payments", "pay_request", "overdraw", request_id=_asked(world, 71), account_id="a2")


def _asked(world: World, amount: int) -> str:
    """Put in a request of Zoe's for so much."""
    world.payments.requests["r9"] = replace(world.payments.requests["r3"], id="r9", amount=amount, status="pending")
    assert world.payments.requests["r9"].address == ZOE
    return "r9"


_pick = st.integers(0, 30)
_calls = st.tuples(
    st.sampled_from(["transfer", "move_money", "pay_request", "decline_request", "request_money", "cancel_request"]),
    _pick,
    _pick,
    st.one_of(st.integers(1, 20_000), st.integers(-5, 10_000_001)),
)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 3), chosen=st.lists(_calls, max_size=25))
def test_money_is_conserved_under_any_calls(seed: int, chosen: list[tuple[str, int, int, int]]) -> None:
    world = populate(seed)
    pay = world.payments
    for name, first, second, amount in chosen:
        accounts, payees, requests = list(pay.accounts), list(pay.payees), list(pay.requests)
        request, payee = requests[first % len(requests)], payees[second % len(payees)]
        account, other = accounts[first % len(accounts)], accounts[second % len(accounts)]
        arguments: dict[str, dict[str, object]] = {
            "transfer": {"account_id": account, "payee_id": payee, "amount": amount},
            "move_money": {"from_account_id": account, "to_account_id": other, "amount": amount},
            "pay_request": {"request_id": request, "account_id": other},
            "decline_request": {"request_id": request},
            "request_money": {"address": SAM, "amount": amount},
            "cancel_request": {"request_id": request},
        }
        before = world.state()
        total = sum(account.balance for account in pay.accounts.values())
        paid = _paid_to_others(world)
        try:
            world.call("payments", name, arguments[name])
        except OfficeError:
            assert world.state() == before
        assert sum(account.balance for account in pay.accounts.values()) + _paid_to_others(world) == total + paid
        for held in pay.accounts.values():
            booked = sum(each.amount for each in pay.transactions.values() if each.account == held.id)
            assert held.balance == held.opening + booked >= 0
            assert pay.left_today(held) >= 0
        assert sum(each.amount for each in pay.transactions.values() if each.kind == "own") == 0


def _paid_to_others(world: World) -> int:
    return -sum(each.amount for each in world.payments.transactions.values() if each.kind in ("transfer", "request"))
