"""Tasks in the payments: pay, decline and make bills and requests, and look up sums."""

from __future__ import annotations

import random

from cairn.envs.gui.task import simple
from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import account, ask, contacts, money
from cairn.envs.office.payments import PaymentRequest
from cairn.envs.office.task import Plan, Step, step
from cairn.envs.office.tasks import templates
from cairn.envs.office.world import World

_NOTES = ("Kite string", "Opera", "Boat hire", "Beehive", "Marbles")


def _pay(world: World, rng: random.Random) -> Plan:
    (who,), note = contacts(world, rng, 1), rng.choice(_NOTES)
    request = ask(world, who.address, rng.randrange(500, 5_000), note, days_later(day_of(world.now), -3))
    source = rng.choice(("Checking", "Household"))
    return Plan(
        instruction=f"Pay the request for money with the note {note!r} from {source}.",
        steps=(step("payments", "pay_request", request_id=request.id, account_id=account(world, source).id),),
    )


def _decline(world: World, rng: random.Random) -> Plan:
    (who, other), note = contacts(world, rng, 2), rng.choice(_NOTES)
    made_on, amount = days_later(day_of(world.now), -3), rng.randrange(500, 5_000)
    request = ask(world, who.address, amount, note, made_on)
    ask(world, other.address, amount, note, made_on)
    return Plan(
        instruction=f"Decline the request with the note {note!r} that {who.address} made.",
        steps=(step("payments", "decline_request", request_id=request.id),),
    )


def _ask(world: World, rng: random.Random) -> Plan:
    (who,), note, amount = contacts(world, rng, 1), rng.choice(_NOTES), rng.randrange(500, 9_000)
    due = days_later(day_of(world.now), rng.randint(7, 30))
    step_ = step(
        "payments", "request_money", address=who.address, amount=amount, note=note, due=due, says=(note,)
    )  # fmt: skip
    return Plan(
        instruction=f"Ask {who.address} for {money(amount)}, due on {due}, with the note '{note}'.",
        steps=(step_,),
    )


def _take_back(world: World, rng: random.Random) -> Plan:
    (who, other), note = contacts(world, rng, 2), rng.choice(_NOTES)
    keys = []
    for person in (who, other):
        key = world.new_id("r")
        world.payments.requests[key] = PaymentRequest(
            id=key, direction="outgoing", address=person.address, amount=rng.randrange(500, 5_000), note=note,
            made_on=days_later(day_of(world.now), -2),
        )  # fmt: skip
        keys.append(key)
    return Plan(
        instruction=f"I asked {who.address} for money with the note {note!r}. Take this request back.",
        steps=(step("payments", "cancel_request", request_id=keys[0]),),
    )


def _payee(world: World, rng: random.Random) -> Plan:
    number = f"KW-{rng.randrange(10_000):04}"
    return Plan(
        instruction=f"Add the payee Kelp Works with the reference {number}.",
        steps=(step("payments", "add_payee", name="Kelp Works", reference=number),),
    )


def _richest(world: World, rng: random.Random) -> Plan:
    accounts = sorted(world.payments.accounts.values(), key=lambda each: each.balance)
    return Plan(
        instruction="On which of my accounts is the most money? Send me its name alone.",
        answer=accounts[-1].name,
        looks=(step("payments", "list_accounts"),),
    )


def _spent(world: World, rng: random.Random) -> Plan:
    payee = rng.choice(sorted(world.payments.payees.values(), key=lambda each: each.reference))
    since = days_later(day_of(world.now), -rng.randint(40, 80))
    found = world.payments.transactions.values()
    paid = [-each.amount for each in found if each.party == payee.id and day_of(each.at) >= since]
    return Plan(
        instruction=f"How much have I paid to {payee.name} since {since}, that day included? Send me the sum alone, "
        "like 12.50.",
        answer=money(sum(paid)),
        looks=(step("payments", "list_transactions", payee_id=payee.id, since=since),),
    )


def _all_of(world: World, rng: random.Random) -> Plan:
    (who, other), steps = contacts(world, rng, 2), list[Step]()
    made_on, source = days_later(day_of(world.now), -3), account(world, "Household").id
    for at, note in enumerate(rng.sample(_NOTES, 4)):
        request = ask(world, (other if at == 3 else who).address, rng.randrange(500, 5_000), note, made_on)
        if at < 3:
            steps.append(step("payments", "pay_request", request_id=request.id, account_id=source))
    for each in world.payments.requests.values():
        is_older = (each.address, each.direction, each.status) == (who.address, "incoming", "pending")
        if is_older and all(taken.arguments["request_id"] != each.id for taken in steps):
            steps.append(step("payments", "pay_request", request_id=each.id, account_id=source))
    return Plan(
        instruction=f"Pay all pending requests for my money that {who.address} made from Household.",
        steps=tuple(steps),
    )


TEMPLATES = (
    simple("payments-bill", 1, "payments", templates()["pay-bill"].make),
    simple("payments-add-payee", 1, "payments", _payee),
    simple("payments-richest", 1, "payments", _richest),
    simple("payments-ask", 1, "payments", _ask),
    simple("payments-pay-request", 2, "payments", _pay),
    simple("payments-decline", 2, "payments", _decline),
    simple("payments-take-back", 2, "payments", _take_back),
    simple("payments-spent", 2, "payments", _spent),
    simple("payments-pay-all-of", 3, "payments", _all_of),
    simple("payments-level-account", 3, "payments", templates()["level-account"].make),
)
