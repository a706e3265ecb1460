"""Helpers of task templates that choose people and moments and add records."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable

from cairn.envs.office.calendar import Event
from cairn.envs.office.clock import day_of, days_later, next_monday
from cairn.envs.office.contacts import Contact
from cairn.envs.office.files import File, Folder, parent
from cairn.envs.office.mail import Attachment, Mail
from cairn.envs.office.payments import Account, Payee, PaymentRequest
from cairn.envs.office.world import World


def contacts(world: World, rng: random.Random, count: int, besides: Collection[Contact] = ()) -> list[Contact]:
    """Return different contacts, in random order."""
    taken = {contact.id for contact in besides}
    return rng.sample([each for each in world.contacts.contacts.values() if each.id not in taken], count)


def namesakes(world: World, rng: random.Random) -> tuple[Contact, Contact]:
    """Return two contacts with the same first name."""
    by_first: dict[str, list[Contact]] = {}
    for contact in world.contacts.contacts.values():
        by_first.setdefault(contact.name.split()[0], []).append(contact)
    first, second = rng.sample(rng.choice([same for same in by_first.values() if len(same) > 1]), 2)
    return first, second


def before(world: World, rng: random.Random, least: int, most: int) -> str:
    """Return a moment some days before today."""
    day = days_later(day_of(world.now), -rng.randint(least, most))
    return f"{day}T{rng.randint(7, 20):02}:{rng.randrange(60):02}"


def next_week(world: World) -> list[str]:
    """Return the days of next week, Monday to Friday."""
    monday = next_monday(day_of(world.now))
    return [days_later(monday, days) for days in range(5)]


def money(cents: int) -> str:
    """Return an amount in the format of texts, such as 12.50."""
    return f"{cents // 100}.{cents % 100:02}"


def receive(
    world: World,
    sender: str,
    subject: str,
    body: str,
    at: str,
    *,
    folder: str = "inbox",
    labels: Iterable[str] = (),
    attachments: tuple[Attachment, ...] = (),
    thread: str | None = None,
) -> Mail:
    """Add a mail from an address to the owner, in a new thread unless one is given."""
    mail = Mail(
        id=world.new_id("m"),
        thread=thread or world.new_id("t"),
        folder=folder,
        sender=sender,
        to=(world.address,),
        subject=subject,
        body=body,
        sent_at=at,
        labels=tuple(sorted(labels)),
        attachments=attachments,
    )
    world.mail.mails[mail.id] = mail
    return mail


def draft(world: World, to: Contact, subject: str, body: str, at: str) -> Mail:
    """Add a draft of the owner."""
    mail = Mail(
        id=world.new_id("m"),
        thread=world.new_id("t"),
        folder="drafts",
        sender=world.address,
        to=(to.address,),
        subject=subject,
        body=body,
        sent_at=at,
    )
    world.mail.mails[mail.id] = mail
    return mail


def meet(
    world: World,
    title: str,
    start: str,
    minutes: int,
    organizer: str,
    attendees: Iterable[str],
    *,
    response: str = "accepted",
    location: str = "",
    is_cancelled: bool = False,
) -> Event:
    """Add an event; all attendees have the same response."""
    event = Event(
        id=world.new_id("e"),
        title=title,
        start=start,
        minutes=minutes,
        organizer=organizer,
        attendees=tuple(sorted((address, response) for address in attendees)),
        location=location,
        is_cancelled=is_cancelled,
    )
    world.calendar.events[event.id] = event
    return event


def put(world: World, path: str, text: str, at: str) -> File:
    """Add a file and missing parent folders."""
    folder = parent(path)
    while folder != "/":
        world.files.folders.setdefault(folder, Folder(path=folder))
        folder = parent(folder)
    world.files.files[path] = File(path=path, text=text, modified_at=at)
    return world.files.files[path]


def add_payee(world: World, name: str, reference: str) -> Payee:
    """Add a payee."""
    payee = Payee(id=world.new_id("p"), name=name, reference=reference)
    world.payments.payees[payee.id] = payee
    return payee


def ask(world: World, address: str, amount: int, note: str, made_on: str, due: str = "") -> PaymentRequest:
    """Add a pending request for the owner's money."""
    request = PaymentRequest(
        id=world.new_id("r"),
        direction="incoming",
        address=address,
        amount=amount,
        note=note,
        made_on=made_on,
        due=due,
    )
    world.payments.requests[request.id] = request
    return request


def account(world: World, name: str) -> Account:
    """Return one of the accounts that every world has: Checking, Savings, Household."""
    return next(each for each in world.payments.accounts.values() if each.name == name)
