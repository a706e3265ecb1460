"""Templates that request money: a share of a journey, or an unpaid club fee."""

from __future__ import annotations

import random
from dataclasses import replace

from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.contacts import ContactGroup
from cairn.envs.office.fixtures import account, before, contacts, money, put
from cairn.envs.office.payments import Transaction
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.world import World

_JOURNEY_PROGRAM = """
paid = {}
for line in office.files.read(path=path)["text"].splitlines():
    name, amount = line.split(": ")
    paid[name] = paid.get(name, 0) + int(amount.replace(".", ""))
share = sum(paid.values()) // len(paid)
for name, amount in paid.items():
    if amount < share:
        office.payments.request_money(address=person(name)["emails"][0], amount=share - amount, note=note)
submit()
"""

_CLUB_PROGRAM = """
cash = [line.removesuffix(", cash") for line in office.files.read(path=paid_path)["text"].splitlines()]
account = account_id("Checking")
bank = [
    each["party"]
    for each in every(office.payments.list_transactions, account_id=account, since=since)
    if each["kind"] == "income" and each["amount"] == fee
]
open_names = []
for contact in every(office.contacts.members, group=group):
    if contact["name"] not in cash and contact["name"] not in bank:
        address, amount = contact["emails"][0], f"{fee / 100:.2f}"
        office.payments.request_money(address=address, amount=fee, note=group)
        office.mail.send(to=[address], subject=subject, body=f"Please pay the fee of {amount}.")
        open_names.append(contact["name"])
office.files.write(path=open_path, text="\\n".join(sorted(open_names)) + "\\n")
submit()
"""


def _journey(world: World, rng: random.Random) -> Plan:
    where = rng.choice(("Lakes", "Coast", "Alps"))
    path, note, people = f"/Shared/{where} journey.txt", f"{where} journey", contacts(world, rng, 5)
    share, lines, steps = rng.randrange(9_000, 20_000), [], []
    for at, who in enumerate(people):
        paid = share if at == 0 else rng.randrange(1_000, share - 500)
        part = rng.randrange(100, paid - 100)
        lines += [f"{who.name}: {money(part)}", f"{who.name}: {money(paid - part)}"]
        if paid < share:
            steps.append(
                step(
                    "payments", "request_money", address=who.address, amount=share - paid, note=note, says=(where,)
                )
            )  # fmt: skip
    spent = sum(int(line.split(": ")[1].replace(".", "")) for line in lines)
    rng.shuffle(lines)
    lines.insert(rng.randint(0, len(lines)), f"{world.owner}: {money(share * 6 - spent)}")
    put(world, path, "".join(f"{line}\n" for line in lines), before(world, rng, 1, 9))
    put(
        world,
        path.replace(".txt", " (old).txt"),
        "".join(f"{line}\n" for line in lines[:7]),
        before(world, rng, 10, 12),
    )
    return Plan(
        instruction=f"{path} lists the amount that each of us paid on our journey. All who are named there, I among "
        "them, are to bear the same share of the sum. Ask everyone who paid less than the share for the difference, by "
        f"one payment request to their main mail address with the note {note!r} and no due day.",
        steps=tuple(steps),
        program=_JOURNEY_PROGRAM,
        values={"path": path, "note": note},
    )


def _club(world: World, rng: random.Random) -> Plan:
    group, fee, people = (
        f"{rng.choice(('Rowing', 'Chess', 'Fencing'))} club",
        rng.randrange(20, 60) * 100,
        contacts(world, rng, 9),
    )
    world.contacts.groups[group] = ContactGroup(name=group, members=tuple(sorted(each.id for each in people[:7])))
    since, paid_path, open_path = days_later(day_of(world.now), -30), "/Notes/fees-cash.txt", "/Notes/fees-open.txt"
    put(world, paid_path, f"{people[0].name}, cash\n{people[7].name}, cash\n", before(world, rng, 1, 9))
    checking = account(world, "Checking").id
    _get(world, checking, people[1].name, fee, before(world, rng, 1, 29))
    _get(world, checking, people[2].name, fee, before(world, rng, 1, 29))
    _get(world, checking, people[3].name, fee - 100, before(world, rng, 1, 29))
    _get(world, checking, people[4].name, fee, before(world, rng, 31, 60))
    subject, steps, open_ones = f"{group} fee", [], people[3:7]
    for who in open_ones:
        steps.append(step("payments", "request_money", address=who.address, amount=fee, note=group, says=(group,)))
        steps.append(
            step("mail", "send", to=[who.address], subject=subject, body=money(fee), says=(money(fee),))
        )  # fmt: skip
    text = "\n".join(sorted(who.name for who in open_ones)) + "\n"
    return Plan(
        instruction=f"The fee of the {group} is {money(fee)}. Members, those in the contact group of that name, "
        f"have paid if {paid_path} lists them or if exactly that amount came as income from them into Checking on "
        f"{since} or later. Ask each of the other members, by their main mail address, for the fee: by a payment "
        f"request with the note {group!r} and no due day, and by a mail of its own with the subject {subject!r} "
        "that contains the amount, written like 12.50. "
        f"Write their names into {open_path}, one a line, in alphabetical order.",
        steps=(*steps, step("files", "write", path=open_path, text=text)),
        program=_CLUB_PROGRAM,
        values={
            "group": group, "fee": fee, "since": since, "subject": subject,
            "paid_path": paid_path, "open_path": open_path,
        },
    )  # fmt: skip


def _get(world: World, target: str, who: str, amount: int, at: str) -> None:
    """Add money that came into an account."""
    key = world.new_id("x")
    each = Transaction(id=key, account=target, at=at, amount=amount, kind="income", party=who)
    world.payments.transactions[key] = each
    account_ = world.payments.accounts[target]
    world.payments.accounts[target] = replace(account_, opening=account_.opening - amount)


TEMPLATES = (
    TaskTemplate(name="share-journey", level=2, apps=("files", "contacts", "payments"), make=_journey),
    TaskTemplate(name="club-fees", level=3, apps=("contacts", "payments", "mail", "files"), make=_club),
)
