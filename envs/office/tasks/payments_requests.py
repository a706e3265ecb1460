"""Templates for payment requests: pay some, decline others, and reply to mails."""

from __future__ import annotations

import random

from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import account, ask, before, contacts, money, receive
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.world import World

_SETTLE_PROGRAM = """
known = {address for contact in every(office.contacts.search) for address in contact["emails"]}
source = account_id("Checking")
for request in every(office.payments.list_requests, direction="incoming", status="pending"):
    if request["address"] not in known:
        office.payments.decline_request(request_id=request["id"])
    elif request["amount"] <= most and request["due"] and request["due"] <= day:
        office.payments.pay_request(request_id=request["id"], account_id=source)
submit()
"""

_DINNER_PROGRAM = """
requests = every(office.payments.list_requests, direction="incoming", status="pending")
for mail in every(office.mail.search, folder="inbox", label=label):
    for request in requests:
        if request["address"] == mail["sender"] and request["note"] == note:
            office.payments.pay_request(request_id=request["id"], account_id=account_id("Household"))
            amount = f"{request['amount'] / 100:.2f}"
            office.mail.reply(mail_id=mail["id"], body=f"I have paid my share of {amount}. Thank you!")
submit()
"""


def _settle(world: World, rng: random.Random) -> Plan:
    most, day = rng.randrange(30, 60) * 100, days_later(day_of(world.now), 7)
    made_on, people = days_later(day, -20), contacts(world, rng, 3)
    ask(world, people[0].emails[-1], most, "Pump", made_on, day)
    ask(world, people[1].address, most + 1, "Ladder", made_on, day)
    ask(world, people[2].address, most - 1, "Rope", made_on, days_later(day, 1))
    ask(world, people[2].address, most - 1, "Nails", made_on)
    for name in ("billing", "help.desk"):
        ask(world, f"{name}{rng.randrange(10, 100)}@quickpay.example", most - 5, "Last reminder", made_on, day)
    known = {address for contact in world.contacts.contacts.values() for address in contact.emails}
    steps = []
    for request in world.payments.requests.values():
        if (request.direction, request.status) == ("incoming", "pending"):
            if request.address not in known:
                steps.append(step("payments", "decline_request", request_id=request.id))
            elif request.amount <= most and request.due and request.due <= day:
                source = account(world, "Checking").id
                steps.append(step("payments", "pay_request", request_id=request.id, account_id=source))
    return Plan(
        instruction="Go through the pending requests for my money. Decline those from addresses that none of my "
        f"contacts has. Of the others, pay from Checking those of at most {money(most)} that are due on {day} or "
        "earlier; leave the rest, also those without a due day, as they are.",
        steps=tuple(steps),
        program=_SETTLE_PROGRAM,
        values={"most": most, "day": day},
    )


def _dinner(world: World, rng: random.Random) -> Plan:
    label, note = "dinner", f"Dinner at {rng.choice(('Vela', 'Mirabel', 'The Lantern'))}"
    people, made_on, steps = contacts(world, rng, 6), days_later(day_of(world.now), -3), []
    source = account(world, "Household").id
    for at, person in enumerate(people):
        request = ask(world, person.address, rng.randrange(900, 5_000), note if at != 4 else "Dinner", made_on)
        if at < 4:
            ask(world, person.address, rng.randrange(900, 5_000), rng.choice(("Cinema", note + "?")), made_on)
        text = "It was a lovely evening! I asked for your share by a payment request."
        mail = receive(world, person.address, "Last night", text, before(world, rng, 1, 3), labels=[label] * (at != 3))
        if at not in (3, 4):
            steps.append(step("payments", "pay_request", request_id=request.id, account_id=source))
            paid = money(request.amount)
            steps.append(step("mail", "reply", mail_id=mail.id, body=paid, says=(paid,)))
    return Plan(
        instruction=f"Everyone who wrote me a mail that is in my inbox with the label {label!r} may have sent me a "
        f"payment request with exactly the note {note!r}, too. Pay these people's requests with that note from "
        "Household, and reply to the labelled mail of each whom you paid with the amount, written like 12.50. "
        "Nobody else gets anything.",
        steps=tuple(steps),
        program=_DINNER_PROGRAM,
        values={"label": label, "note": note},
    )


TEMPLATES = (
    TaskTemplate(name="settle-requests", level=2, apps=("payments", "contacts"), make=_settle),
    TaskTemplate(name="dinner-shares", level=3, apps=("mail", "payments"), make=_dinner),
)
