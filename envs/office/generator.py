"""Generates a world from a seed: people, mail threads, events, files and accounts.

The amount of data resembles a real office. Equal seeds give equal worlds in any process. Some people share a first
name, or their first names differ by one letter; companies and payees have similar names. Task templates add the records
that their tasks need.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from cairn.core.seeding import python_generator
from cairn.envs.office import vocabulary as words
from cairn.envs.office.app import App
from cairn.envs.office.calendar import RESPONSES, Event
from cairn.envs.office.clock import days_later, later, weekday
from cairn.envs.office.contacts import Contact, ContactGroup
from cairn.envs.office.files import File, Folder
from cairn.envs.office.furniture import furnish
from cairn.envs.office.mail import Attachment, Mail
from cairn.envs.office.payments import Account, Payee, PaymentRequest, Transaction
from cairn.envs.office.world import DESK, OFFICE, World

VERSION = 1  # increases with every change of the generated worlds
DAYS_BACK, DAYS_AHEAD = 90, 30


@lru_cache(maxsize=64)
def _populated(seed: int, has: tuple[type[App], ...]) -> World:
    rng = python_generator("office", VERSION, seed)
    day = days_later("2030-01-01", rng.randrange(1000))
    while weekday(day) > 4:
        day = days_later(day, 1)
    people = _names(rng, rng.randint(21, 61))
    owner, domain = people.pop(0), "postbox.example"
    world = World(seed=seed, now=f"{day}T08:00", owner=owner, address=_address(owner, domain), has=has)
    _add_contacts(world, people, rng)
    _add_mails(world, rng)
    _add_events(world, rng)
    _add_files(world, rng)
    _add_payments(world, rng)
    if set(DESK) <= set(has):
        furnish(world, python_generator("desk", VERSION, seed))
    return world


def populate(seed: int, has: tuple[type[App], ...] = OFFICE) -> World:
    """Return the world of a seed, which the caller may change.

    `has` is `OFFICE`, `DESK`, or one of them with further applications, which then have no records.
    """
    return _populated(seed, has).copy()


def _names(rng: random.Random, count: int) -> list[str]:
    """Return different names; the last ten have namesakes.

    Namesakes share the first name, or the last name with first names that differ by a letter.
    """
    lasts = rng.sample(words.LAST_NAMES, 20)
    near = rng.choice(words.NEAR_NAMES)
    shared = rng.sample(words.FIRST_NAMES, 4)
    special = [f"{first} {lasts[0]}" for first in near]
    special += [f"{first} {last}" for at, first in enumerate(shared) for last in lasts[1 + 2 * at : 3 + 2 * at]]
    names = dict.fromkeys(special)
    while len(names) < count:
        names[f"{rng.choice(words.FIRST_NAMES)} {rng.choice(words.LAST_NAMES)}"] = None
    ordered = list(names)
    return [*ordered[len(special) :], *special]


def _address(name: str, domain: str) -> str:
    return f"{name.lower().replace(' ', '.')}@{domain}"


def _domain(company: str) -> str:
    return "".join(letter for letter in company.lower() if letter.isalpha()) + ".example"


def _add_contacts(world: World, people: Sequence[str], rng: random.Random) -> None:
    for name in people:
        company = rng.choice(words.COMPANIES) if rng.random() < 0.6 else ""
        addresses = [_address(name, rng.choice(words.PRIVATE_DOMAINS))]
        if company:
            addresses.insert(0, _address(name, _domain(company)))
        contact = Contact(
            id=world.new_id("c"),
            name=name,
            emails=tuple(addresses[: rng.choice((1, 1, 2))]),
            phone=f"+44 20 5550 {rng.randrange(10_000):04}" if rng.random() < 0.8 else "",
            birthday=f"{rng.randint(1950, 2005)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
            if rng.random() < 0.7
            else "",
            company=company,
        )
        world.contacts.contacts[contact.id] = contact
    ids = sorted(world.contacts.contacts)
    for name in rng.sample(words.GROUPS, 4):
        members = rng.sample(ids, rng.randint(3, min(12, len(ids))))
        world.contacts.groups[name] = ContactGroup(name=name, members=tuple(sorted(members)))


def _moment(world: World, rng: random.Random) -> str:
    """Return a moment of the last months, before today."""
    day = days_later(world.now[:10], -rng.randint(1, DAYS_BACK))
    return f"{day}T{rng.randint(7, 21):02}:{rng.randrange(60):02}"


def _add_mails(world: World, rng: random.Random) -> None:
    people = list(world.contacts.contacts.values())
    for _ in range(rng.randint(45, 85)):
        with_whom = rng.sample(people, rng.choice((1, 1, 1, 2, 3)))
        _add_thread(world, with_whom, rng)
    for _ in range(rng.randint(2, 6)):
        topic, person = rng.choice(words.MAIL_TOPICS), rng.choice(people)
        _add_mail(world, world.new_id("t"), "drafts", world.address, (person.address,), topic, _moment(world, rng), rng)


def _add_thread(world: World, people: Sequence[Contact], rng: random.Random) -> None:
    thread, at, subject = world.new_id("t"), _moment(world, rng), rng.choice(words.MAIL_TOPICS)
    everybody = [world.address, *(person.address for person in people)]
    folder = rng.choice(("inbox",) * 7 + ("archive",) * 2 + ("trash",))
    sender = rng.choice(everybody)
    for number in range(rng.choice((1, 1, 2, 2, 3, 4, 6))):
        to = tuple(address for address in everybody if address != sender)
        where = "sent" if sender == world.address else folder
        _add_mail(world, thread, where, sender, to, subject if number == 0 else f"Re: {subject}", at, rng)
        at = later(at, rng.randint(10, 900))
        if at >= world.now[:10]:
            break
        sender = rng.choice([address for address in everybody if address != sender])


def _add_mail(
    world: World,
    thread: str,
    folder: str,
    sender: str,
    to: tuple[str, ...],
    subject: str,
    at: str,
    rng: random.Random,
) -> None:
    is_received = sender != world.address
    attachments: tuple[Attachment, ...] = ()
    if is_received and rng.random() < 0.05:
        attachments = (Attachment(name="notes.txt", text=" ".join(rng.sample(words.SENTENCES, 2))),)
    mail = Mail(
        id=world.new_id("m"),
        thread=thread,
        folder=folder,
        sender=sender,
        to=to,
        subject=subject,
        body=" ".join(rng.sample(words.SENTENCES, rng.randint(2, 4))),
        sent_at=at,
        is_read=not is_received or rng.random() < 0.75,
        labels=tuple(sorted(rng.sample(words.LABELS, rng.choice((0, 0, 0, 1, 1, 2))))),
        attachments=attachments,
    )
    world.mail.mails[mail.id] = mail


def _add_events(world: World, rng: random.Random) -> None:
    """Add events of the owner, and events of others without the owner.

    Events of one person may overlap.
    """
    people = [contact.address for contact in world.contacts.contacts.values()]
    for _ in range(rng.randint(40, 120)):
        day = _workday(world, rng)
        others = rng.sample(people, rng.randint(1, 4))
        organizer = world.address if rng.random() < 0.4 else others.pop(0)
        if organizer != world.address and rng.random() < 0.75:
            others.append(world.address)
        answers = {address: rng.choice(("none", "accepted", "accepted", *RESPONSES)) for address in others}
        _add_event(world, f"{day}T{rng.randint(8, 16):02}:{rng.choice((0, 30)):02}", organizer, answers, rng)


def _workday(world: World, rng: random.Random) -> str:
    while True:
        day = days_later(world.now[:10], rng.randint(-30, DAYS_AHEAD))
        if weekday(day) < 5:
            return day


def _add_event(world: World, start: str, organizer: str, answers: dict[str, str], rng: random.Random) -> None:
    event = Event(
        id=world.new_id("e"),
        title=rng.choice(words.EVENT_TITLES),
        start=start,
        minutes=rng.choice((30, 30, 60, 60, 90)),
        organizer=organizer,
        attendees=tuple(sorted(answers.items())),
        location=rng.choice(words.ROOMS),
        is_cancelled=rng.random() < 0.08,
    )
    world.calendar.events[event.id] = event


def _add_files(world: World, rng: random.Random) -> None:
    world.files.folders.update({path: Folder(path=path) for path in words.FOLDERS})
    addresses = [contact.address for contact in world.contacts.contacts.values()]
    for _ in range(rng.randint(35, 80)):
        day = days_later(world.now[:10], -rng.randint(1, DAYS_BACK))
        name = f"{rng.choice(words.FILE_NAMES)}{rng.choice(('', f'-{day[:7]}', f'-{day}'))}.txt"
        file = File(
            path=f"{rng.choice(words.FOLDERS)}/{name}",
            text="".join(f"{line}\n" for line in rng.sample(words.SENTENCES, rng.randint(1, 5))),
            modified_at=f"{day}T{rng.randint(8, 19):02}:{rng.randrange(60):02}",
            shared_with=tuple(sorted(rng.sample(addresses, rng.choice((0, 0, 0, 1, 2))))),
        )
        world.files.files[file.path] = file


def _add_payments(world: World, rng: random.Random) -> None:
    accounts = [world.new_id("a") for _ in range(rng.randint(3, 5))]
    for name in rng.sample(words.PAYEES, rng.randint(8, 13)):
        reference = f"{''.join(word[0] for word in name.split())}-{rng.randrange(100_000):05}"
        payee = Payee(id=world.new_id("p"), name=name, reference=reference)
        world.payments.payees[payee.id] = payee
    payees = list(world.payments.payees)
    for _ in range(rng.randint(50, 110)):
        _add_transaction(world, rng.choice(accounts[:2]), payees, rng)
    for name, key in zip(words.ACCOUNTS, accounts, strict=False):  # only the accounts that exist
        changes = [each.amount for each in world.payments.transactions.values() if each.account == key]
        opening = rng.randrange(200_000, 600_000) - min(0, sum(changes))
        account = Account(
            id=key,
            name=name,
            opening=opening,
            balance=opening + sum(changes),
            daily_limit=rng.choice((150_000, 200_000)),
        )
        world.payments.accounts[key] = account
    _add_requests(world, rng)


def _add_transaction(world: World, account: str, payees: Sequence[str], rng: random.Random) -> None:
    kind = rng.choice(("transfer",) * 7 + ("income",))
    amount = -rng.randrange(300, 15_000) if kind == "transfer" else rng.randrange(5_000, 90_000)
    each = Transaction(
        id=world.new_id("x"),
        account=account,
        at=_moment(world, rng),
        amount=amount,
        kind=kind,
        party=rng.choice(payees) if kind == "transfer" else rng.choice(words.INCOMES),
    )
    world.payments.transactions[each.id] = each


def _add_requests(world: World, rng: random.Random) -> None:
    people = [contact.address for contact in world.contacts.contacts.values()]
    for _ in range(rng.randint(8, 16)):
        made_on = days_later(world.now[:10], -rng.randint(1, 40))
        request = PaymentRequest(
            id=world.new_id("r"),
            direction=rng.choice(("incoming", "incoming", "outgoing")),
            address=rng.choice(people),
            amount=rng.randrange(300, 9_000),
            note=rng.choice(words.REQUEST_NOTES),
            made_on=made_on,
            due=days_later(made_on, rng.randint(5, 60)) if rng.random() < 0.6 else "",
            status=rng.choice(("pending", "pending", "declined", "cancelled")),
        )
        world.payments.requests[request.id] = request
