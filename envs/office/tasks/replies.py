"""Templates for mails that ask for a phone number or for another meeting time."""

from __future__ import annotations

import random
from dataclasses import replace

from cairn.envs.office.clock import later
from cairn.envs.office.fixtures import before, contacts, meet, namesakes, next_week, receive
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.world import World

_PHONE_PROGRAM = """
address = person(who)["emails"][0]
mail = next(mail for mail in every(office.mail.search, query=subject, sender=address) if mail["subject"] == subject)
body = office.mail.get(mail_id=mail["id"])["body"]
wanted = next(each for each in every(office.contacts.search) if f"of {each['name']}," in body)
office.mail.reply(mail_id=mail["id"], body=f"It is {wanted['phone']}.")
submit()
"""

_MOVE_PROGRAM = """
import re

me = office.world.me()["address"]
for mail in every(office.mail.search, folder="inbox", query=subject):
    if mail["subject"] != subject:
        continue
    title, new = re.search(r'"(.+)" to (\\S+) instead', office.mail.get(mail_id=mail["id"])["body"]).groups()
    found = every(office.calendar.search, query=title)
    event = next(each for each in found if each["title"] == title and each["organizer"] == me and not each["cancelled"])
    others = [each["address"] for each in event["attendees"]]
    if new in every(office.calendar.free_slots, day=new[:10], minutes=60, attendees=others):
        office.calendar.move(event_id=event["id"], start=new)
        office.mail.reply(mail_id=mail["id"], body=f"Moved to {new}.")
submit()
"""


def _phone(world: World, rng: random.Random) -> Plan:
    wanted, other = namesakes(world, rng)
    (who,) = contacts(world, rng, 1, besides=(wanted, other))
    subject, phone = rng.choice(("A phone number", "A number, please")), f"+44 20 5558 {rng.randrange(10_000):04}"
    world.contacts.contacts[wanted.id] = replace(wanted, phone=phone)
    world.contacts.contacts[other.id] = replace(other, phone=phone[:-4] + f"{rng.randrange(10_000):04}")
    text = f"Could you send me the phone number of {wanted.name}, please?"
    mail = receive(world, who.address, subject, text, before(world, rng, 1, 4))
    text = f"Could you send me the phone number of {other.name}, please? No, I have found it."
    receive(world, who.address, f"{subject} (again)", text, before(world, rng, 1, 4))
    return Plan(
        instruction=f"In a mail with exactly the subject {subject!r}, {who.name} asks for somebody's phone number. "
        "Reply with the number that my contacts have, written in the same way.",
        steps=(step("mail", "reply", mail_id=mail.id, body=phone, says=(phone,)),),
        program=_PHONE_PROGRAM,
        values={"who": who.name, "subject": subject},
    )


def _move(world: World, rng: random.Random) -> Plan:
    days, subject, steps = next_week(world), "Another time?", []
    *askers, host = contacts(world, rng, 4)
    names = rng.sample(("Roof plan", "Atlas pages", "Harvest count", "Ferry offer"), 3)
    for at, (asker, title) in enumerate(zip(askers, names, strict=True)):
        start, new = f"{days[4]}T{9 + 2 * at:02}:00", f"{days[at]}T{10 + at:02}:30"
        people = [world.address, asker.address]
        for event in list(world.calendar.events.values()):
            if event.start < later(new, 60) and new < event.end and any(map(event.occupies, people)):
                del world.calendar.events[event.id]
        meet(world, title, f"{days[3]}T17:00", 60, world.address, [asker.address], is_cancelled=True)
        meet(world, title, f"{days[3]}T17:00", 60, host.address, [world.address, asker.address])
        event = meet(world, title, start, 60, world.address, [asker.address])
        if at == 1:
            meet(world, "Private", later(new, 30), 60, host.address, [rng.choice(people)])
        text = f'Could we move "{title}" to {new} instead? It is hard for me on {start[:10]}.'
        mail = receive(world, asker.address, subject, text, before(world, rng, 1, 3))
        if at != 1:
            steps.append(step("calendar", "move", event_id=event.id, start=new))
            steps.append(step("mail", "reply", mail_id=mail.id, body=new, says=(new.replace("T", " "),)))
    return Plan(
        instruction=f"In mails with the subject {subject!r}, which are in my inbox, people ask to move events that "
        "I organise. Move those for which I and all attendees are free for the whole length at the time asked for, "
        "and reply to each of these mails with the new day and start, like '2031-05-04 09:30'. Leave the other "
        "events alone and do not answer about them. Cancelled events do not count.",
        steps=tuple(steps),
        program=_MOVE_PROGRAM,
        values={"subject": subject},
    )


TEMPLATES = (
    TaskTemplate(name="reply-phone", level=2, apps=("mail", "contacts"), make=_phone),
    TaskTemplate(name="move-on-request", level=3, apps=("mail", "calendar"), make=_move),
)
