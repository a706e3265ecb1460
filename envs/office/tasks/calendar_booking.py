"""Templates that create events: in the first free slot, or with a group's available members."""

from __future__ import annotations

import random

from cairn.envs.office.clock import later
from cairn.envs.office.fixtures import contacts, meet, next_week
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.world import World

_BOOK_PROGRAM = """
addresses = [person(name)["emails"][0] for name in names]
for day in days:
    slots = every(office.calendar.free_slots, day=day, minutes=minutes, attendees=addresses)
    if slots:
        office.calendar.create(title=title, start=slots[0], minutes=minutes, attendees=addresses, location=room)
        break
submit()
"""

_INVITE_PROGRAM = """
free = []
for contact in every(office.contacts.members, group=group):
    address = contact["emails"][0]
    busy = every(office.calendar.busy, address=address, first=start[:10], last=start[:10])
    if not any(slot["start"] < end and start < slot["end"] for slot in busy):
        free.append(address)
office.calendar.create(title=title, start=start, minutes=minutes, attendees=free, location=room)
submit()
"""


def _book(world: World, rng: random.Random) -> Plan:
    days, people = next_week(world), contacts(world, rng, 3)
    addresses = [person.address for person in people[:2]]
    title, room = rng.choice(("Tender talk", "Audit talk", "Launch talk")), rng.choice(("Room 2", "Attic", "Library"))
    minutes = rng.choice((60, 90))
    for day in days[: rng.randint(1, 2)]:  # blocks the first days
        for at, busy in enumerate(rng.sample([*addresses, world.address], 3)):
            meet(world, "Focus", f"{day}T{8 + 3 * at:02}:30", 180, busy, [people[2].address])
    start = next(
        start
        for day in days
        for start in (later(f"{day}T09:00", 30 * half) for half in range(17))
        if later(start, minutes)[11:] <= "17:00"
        and world.calendar.are_free([world.address, *addresses], start, minutes)
    )
    names = [person.name for person in people[:2]]
    return Plan(
        instruction=f"Make an event {title!r} of {minutes} minutes, location {room!r}, with {names[0]} and "
        f"{names[1]} (their main mail addresses), at the first time from {days[0]} to {days[4]} at which the three "
        "of us are free. It must start on the hour or half hour, at 09:00 or later, and end by 17:00.",
        steps=(
            step(
                "calendar", "create", title=title, start=start, minutes=minutes, attendees=addresses, location=room
            ),
        ),
        program=_BOOK_PROGRAM,
        values={"names": names, "days": days, "minutes": minutes, "title": title, "room": room},
    )  # fmt: skip


def _invite(world: World, rng: random.Random) -> Plan:
    group = rng.choice([group for group in world.contacts.groups.values() if len(group.members) >= 3])
    members = [world.contacts.contacts[each].address for each in group.members]
    day, minutes = rng.choice(next_week(world)), 120
    start = f"{day}T15:00"
    busy, tentative, *_ = rng.sample(members, 3)
    host = contacts(world, rng, 1)[0].address
    meet(world, "Private", later(start, 90), 60, busy, [])
    meet(world, "Before", later(start, -60), 60, tentative, [])
    if host != tentative:
        meet(world, "Maybe", start, 60, host, [tentative], response="declined")
    free = [address for address in members if world.calendar.are_free([address], start, minutes)]
    title = rng.choice(("Summer party", "Garden party", "Tasting"))
    return Plan(
        instruction=f"Make an event {title!r} on {day} from 15:00 to 17:00 with the location 'Garden', and invite "
        f"every member of the contact group {group.name!r} who is not busy at any time during it, by their main "
        "mail addresses.",
        steps=(
            step(
                "calendar", "create", title=title, start=start, minutes=minutes, attendees=free, location="Garden"
            ),
        ),
        program=_INVITE_PROGRAM,
        values={
            "group": group.name, "room": "Garden", "title": title,
            "start": start, "end": later(start, minutes), "minutes": minutes,
        },
    )  # fmt: skip


TEMPLATES = (
    TaskTemplate(name="book-first-slot", level=2, apps=("calendar", "contacts"), make=_book),
    TaskTemplate(name="invite-group", level=2, apps=("calendar", "contacts"), make=_invite),
)
