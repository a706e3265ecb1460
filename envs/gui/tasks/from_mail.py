"""Workflows that begin with a mail and act in another application."""

from __future__ import annotations

import random

from cairn.envs.gui.task import workflow
from cairn.envs.gui.tasks._planting import admit, lay_out, project
from cairn.envs.office.clock import day_of, days_later, later
from cairn.envs.office.fixtures import account, add_payee, before, contacts, money, namesakes, next_week, put, receive
from cairn.envs.office.mail import Attachment
from cairn.envs.office.settings import ROLES
from cairn.envs.office.task import Plan, Step, step
from cairn.envs.office.world import World

_TOPICS = ("Canal tour", "Wind tunnel", "Bread baking", "Glass roof", "Owl count", "Pottery class")


def _event(world: World, rng: random.Random) -> Plan:
    (who, other), topic = contacts(world, rng, 2), rng.choice(_TOPICS)
    start, room = (
        f"{rng.choice(next_week(world))}T{rng.randint(8, 16):02}:15",
        rng.choice(("Attic", "Room 2", "Library")),
    )
    text = f"Let us meet on {start[:10]} from {start[11:]} to {later(start, 45)[11:]} in the {room}."
    receive(world, who.address, topic, text, before(world, rng, 1, 4))
    receive(world, other.address, f"{topic}?", text.replace(start[11:], "07:00"), before(world, rng, 5, 9))
    step_ = step(
        "calendar", "create", title=topic, start=start, minutes=45, location=room, attendees=[who.address]
    )  # fmt: skip
    return Plan(
        instruction=f"In the mail with exactly the subject {topic!r}, somebody proposes a time and a place. Put it "
        f"into my calendar as an event called {topic!r}, at that place ({room!r}), and invite the sender's address.",
        steps=(step_,),
    )


def _accept(world: World, rng: random.Random) -> Plan:
    (who,), topic = contacts(world, rng, 1), rng.choice(_TOPICS)
    start = f"{rng.choice(next_week(world))}T18:00"
    new = later(start, rng.choice((30, 60, 90)))
    event = _meet(world, topic, start, who.address)
    mail = receive(
        world, who.address, f"{topic}: later, please", f"Could we begin at {new[11:]} on the same day?",
        before(world, rng, 1, 3),
    )  # fmt: skip
    new_start = new.replace("T", " ")
    return Plan(
        instruction=f"{who.name} asks by mail to begin {topic!r} later. Move the event as asked, and reply to the mail "
        "with the new day and time and no other, like 2031-05-04 09:30.",
        steps=(
            step("calendar", "move", event_id=event, start=new),
            step("mail", "reply", mail_id=mail.id, body=f"Moved to {new_start}.", says=(new_start,), says_only=True),
        ),
    )


def _meet(world: World, title: str, start: str, guest: str) -> str:
    """Add an event of the owner with a guest; returns its id."""
    made = world.call("calendar", "create", {"title": title, "start": start, "minutes": 60, "attendees": [guest]})
    world.log.clear()
    assert isinstance(made, dict)
    return str(made["id"])


def _contact(world: World, rng: random.Random) -> Plan:
    first, last = rng.choice(("Orla", "Pim", "Quentin")), rng.choice(("Finch", "Marsh", "Stone"))
    address, phone = f"{first.lower()}@{last.lower()}works.example", f"+44 20 5556 {rng.randrange(10_000):04}"
    topic = rng.choice(_TOPICS)
    text = f"I am writing about the {topic.lower()}.\n\n{first} {last}\n{last}works\nPhone {phone}\nFax +44 20 5556 0"
    mail = receive(world, address, topic, text, before(world, rng, 1, 9))
    name, company = f"{first} {last}", f"{last}works"
    create = step("contacts", "create", name=name, emails=[address], phone=phone, company=company)
    return Plan(
        instruction=f"Make a contact of the person who wrote the mail {topic!r}, with name, mail address, phone and "
        "company as the mail has them, and archive the mail.",
        steps=(create, step("mail", "move", mail_id=mail.id, folder="archive")),
    )


def _complaint(world: World, rng: random.Random) -> Plan:
    (who,), of, code = contacts(world, rng, 1), project(world, rng), f"K{rng.randrange(1000, 10_000)}"
    thing, label = rng.choice(("Sunshade", "Turnstile", "Intercom")), rng.choice(of.labels)
    text = f"Your {thing.lower()} broke on the first day. It shows {code}. Please hurry!"
    mail = receive(world, who.address, f"{thing} broken", text, before(world, rng, 1, 4))
    step_ = step(
        "issues", "create", project=of.name, title=f"{thing} broken", text=f"It shows {code}.", priority="urgent",
        labels=[label], says=(code,), says_only=True,
    )  # fmt: skip
    return Plan(
        instruction=f"Somebody complains in the mail '{thing} broken'. Report an issue '{thing} broken' in the project "
        f"{of.name}: urgent, with the label {label!r}, nobody assigned, and with the code of the mail in its "
        "description. Then archive the mail.",
        steps=(step_, step("mail", "move", mail_id=mail.id, folder="archive")),
    )


def _invoice(world: World, rng: random.Random) -> Plan:
    number, cents = rng.randrange(2_000, 9_000), rng.randrange(1_000, 20_000)
    right, _ = (
        add_payee(world, "Larch Printing", f"LP-{number}"),
        add_payee(world, "Larch Printing", f"LP-{number + 1}"),
    )
    text = f"Invoice: {number}\nReference: LP-{number}\nTotal: {money(cents)}\nThe total has 19 percent tax in it.\n"
    attachments = (Attachment(name=f"invoice-{number}.txt", text=text),)
    mail = receive(
        world, "billing@larch.example", "Your invoice", "Please find it attached.", before(world, rng, 1, 9),
        attachments=attachments,
    )  # fmt: skip
    source, note = account(world, "Checking").id, str(number)
    pay = step(
        "payments", "transfer", account_id=source, payee_id=right.id, amount=cents, note=note, says=(note,),
        says_only=True,
    )  # fmt: skip
    return Plan(
        instruction="Pay the invoice that is attached to the mail 'Your invoice' from Checking: to the payee with the "
        "reference that the invoice gives, with the number of the invoice as the note. Then archive the mail.",
        steps=(pay, step("mail", "move", mail_id=mail.id, folder="archive")),
    )


def _receipts(world: World, rng: random.Random) -> Plan:
    columns, steps = (("Shop", "text"), ("Day", "day"), ("Amount", "number")), list[Step]()
    lay_out(world, "Receipts", columns, [("Corner Bakery", days_later(day_of(world.now), -40), "12.00")])
    for at, shop in enumerate(rng.sample(("Ivory Paper", "Kelp Catering", "Mica Tools", "Jasper Cleaning"), 4)):
        day, price = days_later(day_of(world.now), -rng.randint(10, 30)), money(rng.randrange(300, 9_000))
        text = f"Thank you for buying on {day}. You paid {price}."
        label = ["receipts"] if at < 3 else []
        mail = receive(world, "till@shops.example", f"Receipt of {shop}", text, before(world, rng, 1, 9), labels=label)
        if at < 3:
            steps.append(step("sheets", "add_row", sheet="Receipts", cells=[shop, day, price]))
            steps.append(step("mail", "move", mail_id=mail.id, folder="archive"))
    return Plan(
        instruction="In my inbox are mails 'Receipt of ...' from till@shops.example. For each of them with the label "
        "'receipts' add a row to the sheet Receipts: the shop that the subject names, the day and the amount that the "
        "mail gives. Archive these mails.",
        steps=tuple(steps),
    )


def _role(world: World, rng: random.Random) -> Plan:
    who, other = namesakes(world, rng)
    old, new = rng.sample(ROLES[:3], 2)
    for each in (who, other):
        admit(world, each.name, each.address, old)
    mail = receive(
        world, who.address, "My rights", f"Could I become {new} on the site, please? I am only {old} now.",
        before(world, rng, 1, 4),
    )  # fmt: skip
    reply = step("mail", "reply", mail_id=mail.id, body=f"You are {new} now.", says=(new,), among=ROLES)
    return Plan(
        instruction="In the mail 'My rights' somebody asks for another role on the site. Give it to the user with the "
        "sender's address, and reply to the mail with the name of the new role and of no other.",
        steps=(step("settings", "update_user", address=who.address, role=new), reply),
    )


def _attachment(world: World, rng: random.Random) -> Plan:
    (who,), topic, number = contacts(world, rng, 1), rng.choice(_TOPICS), rng.randrange(100, 999)
    text = f"Chairs: {number}\nTables: {number // 4}"
    notes = (Attachment(name="list.txt", text=text), Attachment(name="old-list.txt", text="Chairs: 1"))
    receive(world, who.address, topic, "The list is attached.", before(world, rng, 1, 9), attachments=notes)
    put(world, "/Documents/Reports/list.txt", "Chairs: 0\n", before(world, rng, 10, 20))
    path = "/Documents/Reports/list.txt"
    return Plan(
        instruction=f"The mail {topic!r} has the newest list.txt attached. Replace the content of the file {path} with "
        "that of the attachment.",
        steps=(step("files", "write", path=path, text=text, overwrite=True),),
    )


def _survey(world: World, rng: random.Random) -> Plan:
    columns, day = (("Name", "text"), ("Places", "number")), rng.choice(next_week(world))
    people, topic, steps = contacts(world, rng, 4), rng.choice(_TOPICS), list[Step]()
    lay_out(world, "Seats", columns, [])
    for at, who in enumerate(people):
        count = rng.randint(2, 9)
        text = f"We come with {count} people." if at != 2 else "Sorry, we cannot come."
        receive(world, who.address, f"Re: {topic}", text, before(world, rng, 1, 9))
        if at != 2:
            steps.append(step("sheets", "add_row", sheet="Seats", cells=[who.name, str(count)]))
    guests = [who.address for at, who in enumerate(people) if at != 2]
    steps.append(
        step(
            "calendar", "create", title=topic, start=f"{day}T17:30", minutes=60, attendees=guests, location="Cafeteria"
        )
    )
    return Plan(
        instruction=f"Four mails 'Re: {topic}' in my inbox tell who comes with how many people. Add a row to the sheet "
        "Seats for each sender who comes: the name that my contacts have, and the number. Then make an event "
        f"{topic!r} on {day} from 17:30 to 18:30 in the Cafeteria, and invite the addresses of those who come.",
        steps=tuple(steps),
    )


TEMPLATES = (
    workflow("event-from-mail", 2, ("mail", "calendar"), _event),
    workflow("move-as-asked", 2, ("mail", "calendar"), _accept),
    workflow("contact-from-mail", 2, ("mail", "contacts"), _contact),
    workflow("issue-from-complaint", 2, ("mail", "issues"), _complaint),
    workflow("pay-invoice", 3, ("mail", "payments"), _invoice),
    workflow("receipts-to-sheet", 3, ("mail", "sheets"), _receipts),
    workflow("role-asked-for", 2, ("mail", "settings"), _role),
    workflow("attachment-to-file", 2, ("mail", "files"), _attachment),
    workflow("seats-from-mails", 3, ("mail", "sheets", "calendar", "contacts"), _survey),
)
