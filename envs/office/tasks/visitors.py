"""Template for a visitor's mail: find a time, make the event, reply, and add the contact."""

from __future__ import annotations

import random

from cairn.envs.office.fixtures import before, contacts, meet, next_week, put, receive
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.vocabulary import LAST_NAMES
from cairn.envs.office.world import World

_PROGRAM = """
import re

mail = next(mail for mail in every(office.mail.search, folder="inbox", query=subject) if mail["subject"] == subject)
text = office.mail.get(mail_id=mail["id"])["body"]
name, phone = re.search(r"My name is (.+?), my phone number (.+?)\\.", text).groups()
for start in re.findall(r"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d", text):
    if start in every(office.calendar.free_slots, day=start[:10], minutes=60):
        break
office.calendar.create(title=f"Visit: {name}", start=start, minutes=60, attendees=[mail["sender"]])
office.mail.reply(mail_id=mail["id"], body=f"Come on {start}.")
office.contacts.create(name=name, emails=[mail["sender"]], phone=phone)
office.files.append(path=path, text=f"{start[:10]} {name}\\n")
submit()
"""


def _make(world: World, rng: random.Random) -> Plan:
    first, last = rng.choice(("Orla", "Pim", "Quentin", "Romy")), rng.choice(LAST_NAMES)
    name, address = f"{first} {last}", f"{first.lower()}@{last.lower()}-works.example"
    subject, path, phone = "A visit", "/Notes/visitors.txt", f"+44 20 5557 {rng.randrange(10_000):04}"
    days, host = next_week(world), contacts(world, rng, 1)[0].address
    times = [f"{day}T{rng.randint(9, 15):02}:{rng.choice((0, 30)):02}" for day in rng.sample(days, 3)]
    meet(world, "Inventory", times[0], 30, world.address, [])
    if rng.random() < 0.5:
        meet(world, "Inventory", times[1], 45, host, [world.address], response="none")
    start = next((time for time in times if world.calendar.are_free([world.address], time, 60)), "")
    if not start:  # makes the last one free
        start = times[2]
        for event in list(world.calendar.events.values()):
            if event.start[:10] == start[:10] and event.occupies(world.address):
                del world.calendar.events[event.id]
    text = (
        f"My name is {name}, my phone number {phone}. I could come for an hour at {times[0]}, {times[1]} or {times[2]}."
    )
    mail = receive(world, address, subject, text, before(world, rng, 1, 3))
    receive(
        world, f"info@{last.lower()}-works.example", f"{subject}?", text.replace(phone, "0"), before(world, rng, 4, 6)
    )
    put(world, path, "2029-11-02 Zed Quill\n", before(world, rng, 1, 60))
    day, moment = start[:10], start.replace("T", " ")
    return Plan(
        instruction=f"In a mail in my inbox with exactly the subject {subject!r}, a visitor proposes three times. "
        "Take the first of them, in the order of the mail, at which I am free for an hour. Make an event of 60 "
        "minutes then, called 'Visit: NAME' with the visitor's name, no location, and invite the visitor's "
        "address. Reply to the mail with the day and start, like '2031-05-04 09:30'. Make a contact with the name, "
        "the address and the phone number of the mail. And add the line 'YYYY-MM-DD NAME', with the day of the "
        f"visit, at the end of {path}.",
        steps=(
            step("calendar", "create", title=f"Visit: {name}", start=start, minutes=60, attendees=[address]),
            step("mail", "reply", mail_id=mail.id, body=start, says=(moment,)),
            step("contacts", "create", name=name, emails=[address], phone=phone),
            step("files", "append", path=path, text=f"{day} {name}\n"),
        ),
        program=_PROGRAM,
        values={"subject": subject, "path": path},
    )


TEMPLATES = (TaskTemplate(name="plan-visit", level=3, apps=("mail", "calendar", "contacts", "files"), make=_make),)
