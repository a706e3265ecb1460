"""Templates for payments: pay a bill, move money between accounts, and sum payments."""

from __future__ import annotations

import random
from dataclasses import replace

from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import account, add_payee, money
from cairn.envs.office.payments import Transaction
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.world import World

_BILL_PROGRAM = """
payee = next(each for each in every(office.payments.list_payees) if each["reference"] == reference)
office.payments.transfer(account_id=account_id(source), payee_id=payee["id"], amount=amount, note=note)
submit()
"""

_LEVEL_PROGRAM = """
accounts = {each["name"]: each for each in every(office.payments.list_accounts)}
surplus = accounts[name]["balance"] - wanted
source, target = (name, other) if surplus > 0 else (other, name)
office.payments.move_money(
    from_account_id=accounts[source]["id"], to_account_id=accounts[target]["id"], amount=abs(surplus)
)
submit()
"""

_SPENT_PROGRAM = """
payee = next(each for each in every(office.payments.list_payees, query=name) if each["name"] == name)
paid = every(office.payments.list_transactions, payee_id=payee["id"], since=since, until=until)
submit(-sum(each["amount"] for each in paid))
"""


def _bill(world: World, rng: random.Random) -> Plan:
    name, number = rng.choice(("Vellum Water", "Vellum Gas", "Oakmere Rent")), rng.randrange(1_000, 10_000)
    references = [f"KD-{number}", f"KD-{number + 1}", f"DK-{number}"]
    right, *_ = [add_payee(world, name, reference) for reference in references]
    amount, source = rng.randrange(2_000, 40_000), rng.choice(("Checking", "Household"))
    note = f"Invoice {rng.randrange(10_000, 100_000)}"
    return Plan(
        instruction=f"Pay {money(amount)} from {source} to {name}, the payee with the reference {references[0]}, "
        f"and write '{note}' as the note.",
        steps=(
            step(
                "payments",
                "transfer",
                says=(note.split()[1],),
                account_id=account(world, source).id,
                payee_id=right.id,
                amount=amount,
                note=note,
            ),
        ),
        program=_BILL_PROGRAM,
        values={"reference": references[0], "source": source, "amount": amount, "note": note},
    )


def _level(world: World, rng: random.Random) -> Plan:
    name, other = rng.sample(("Checking", "Savings", "Household"), 2)
    mine, theirs = account(world, name), account(world, other)
    change = rng.choice((-1, 1)) * rng.randrange(1_000, 90_000)
    wanted = mine.balance + change
    pair = (theirs.id, mine.id) if change > 0 else (mine.id, theirs.id)
    return Plan(
        instruction=f"There should be exactly {money(wanted)} in {name}. Take the missing amount from {other}, or "
        "move the excess there.",
        steps=(
            step("payments", "move_money", from_account_id=pair[0], to_account_id=pair[1], amount=abs(change)),
        ),
        program=_LEVEL_PROGRAM,
        values={"name": name, "other": other, "wanted": wanted},
    )  # fmt: skip


def _spent(world: World, rng: random.Random) -> Plan:
    payee = rng.choice(list(world.payments.payees.values()))
    until = days_later(day_of(world.now)[:8] + "01", -1)
    since = until[:8] + "01"
    sources = list(world.payments.accounts.values())
    for _ in range(22):
        source, amount = rng.choice(sources), rng.randrange(100, 400)
        day = days_later(since, rng.randrange(28))
        _pay(world, source.id, f"{day}T12:{rng.randrange(60):02}", -amount, payee.id)
    _pay(world, sources[0].id, f"{until}T23:59", -rng.randrange(100, 400), payee.id)
    _pay(world, sources[0].id, f"{days_later(since, -1)}T23:59", -rng.randrange(100, 400), payee.id)
    _pay(world, sources[0].id, f"{day_of(world.now)}T07:30", -rng.randrange(100, 400), payee.id)
    total = sum(
        -each.amount
        for each in world.payments.transactions.values()
        if each.party == payee.id and each.kind == "transfer" and since <= day_of(each.at) <= until
    )
    return Plan(
        instruction=f"How much did I pay to {payee.name} from {since} to {until}, both days included, from all "
        "accounts together? Submit whole cents.",
        answer=total,
        program=_SPENT_PROGRAM,
        values={"name": payee.name, "since": since, "until": until},
    )


def _pay(world: World, source: str, at: str, amount: int, payee: str) -> None:
    """Add a past transfer; the account's opening balance grows by the same amount."""
    key = world.new_id("x")
    each = Transaction(id=key, account=source, at=at, amount=amount, kind="transfer", party=payee)
    world.payments.transactions[key] = each
    opened = world.payments.accounts[source]
    world.payments.accounts[source] = replace(opened, opening=opened.opening - amount)


TEMPLATES = (
    TaskTemplate(name="pay-bill", level=1, apps=("payments",), make=_bill),
    TaskTemplate(name="level-account", level=1, apps=("payments",), make=_level),
    TaskTemplate(name="sum-spent", level=2, apps=("payments",), make=_spent),
)
