"""Templates that move, cancel or decline meetings, or change their room."""

from __future__ import annotations

import random

from cairn.envs.office.calendar import Event
from cairn.envs.office.clock import days_later, later
from cairn.envs.office.contacts import Contact
from cairn.envs.office.fixtures import contacts, meet, next_week
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.vocabulary import EVENT_TITLES
from cairn.envs.office.world import World

_SHIFT_PROGRAM = """
from datetime import datetime, timedelta

address, me = person(who)["emails"][0], office.world.me()["address"]
for event in every(office.calendar.list_events, first=first, last=last):
    others = [each["address"] for each in event["attendees"]]
    if event["organizer"] != me or event["cancelled"] or address not in others:
        continue
    start, end = datetime.fromisoformat(event["start"]), datetime.fromisoformat(event["end"])
    new = (start + timedelta(days=1)).isoformat(timespec="minutes")
    until = (end + timedelta(days=1)).isoformat(timespec="minutes")
    busy = [
        slot
        for each in [me, *others]
        for slot in every(office.calendar.busy, address=each, first=new[:10], last=new[:10])
        if slot["start"] < until and new < slot["end"]
    ]
    if busy:
        office.calendar.cancel(event_id=event["id"])
    else:
        office.calendar.move(event_id=event["id"], start=new)
submit()
"""

_DECLINE_PROGRAM = """
address, me = person(who)["emails"][0], office.world.me()["address"]
for event in every(office.calendar.list_events, first=day, last=day):
    is_open = {"address": me, "response": "none"} in event["attendees"]
    if is_open and not event["cancelled"] and event["organizer"] != address:
        office.calendar.respond(event_id=event["id"], response="declined")
submit()
"""

_ROOM_PROGRAM = """
me = office.world.me()["address"]
for event in every(office.calendar.search, query=title):
    is_mine = event["title"] == title and event["organizer"] == me and not event["cancelled"]
    if is_mine and event["start"][:10] >= day and event["location"] == old:
        office.calendar.update(event_id=event["id"], location=new)
submit()
"""


def _shift(world: World, rng: random.Random) -> Plan:
    days = next_week(world)
    who, other, host = contacts(world, rng, 3)
    _clear(world, days, who)
    steps = []
    for hour, is_blocked in zip(("09", "11", "13", "15"), rng.sample((True, False, True, False), 4), strict=True):
        event = _movable(world, hour, rng.sample(days[:4], 4), [who.address, other.address])
        new = later(event.start, 24 * 60)
        if is_blocked:
            meet(world, "Private", later(new, 30), 60, host.address, [rng.choice((who.address, other.address))])
            steps.append(step("calendar", "cancel", event_id=event.id))
        else:
            steps.append(step("calendar", "move", event_id=event.id, start=new))
    meet(world, "Weekly catch-up", f"{days_later(days[4], 3)}T09:00", 30, world.address, [who.address])
    meet(world, "Weekly catch-up", f"{days[2]}T16:30", 30, who.address, [world.address])
    meet(world, "Dropped", f"{days[1]}T16:30", 30, world.address, [who.address], is_cancelled=True)
    return Plan(
        instruction=f"All meetings of next week ({days[0]} to {days[4]}) that I organise and {who.name} is invited "
        "to must move to the next day, at the same time of day. Move each of them for which I and all its "
        "attendees are free at the new time; cancel the others. Those that are cancelled already need nothing.",
        steps=tuple(steps),
        program=_SHIFT_PROGRAM,
        values={"who": who.name, "first": days[0], "last": days[4]},
    )


def _clear(world: World, days: list[str], who: Contact) -> None:
    """Remove the owner's meetings on these days that the person attends."""
    for event in list(world.calendar.events.values()):
        is_meant = event.organizer == world.address and event.is_with(who.address)
        if is_meant and days[0] <= event.start[:10] <= days[-1]:
            del world.calendar.events[event.id]


def _movable(world: World, hour: str, days: list[str], attendees: list[str]) -> Event:
    """Add a meeting that can move by a day; removes conflicting events."""
    start = f"{days[0]}T{hour}:00"
    new, end = later(start, 24 * 60), later(start, 25 * 60)
    people = [world.address, *attendees]
    for event in list(world.calendar.events.values()):
        if event.start < end and new < event.end and any(map(event.occupies, people)):
            del world.calendar.events[event.id]
    return meet(world, "Handover", start, 60, world.address, attendees)


def _decline(world: World, rng: random.Random) -> Plan:
    day = rng.choice(next_week(world))
    who, *others = contacts(world, rng, 4)
    for at, host in enumerate(others):
        meet(world, rng.choice(EVENT_TITLES), f"{day}T{10 + at}:00", 45, host.address, [world.address], response="none")
    meet(world, "One to one", f"{day}T14:00", 30, who.address, [world.address], response="none")
    meet(world, "Lunch", f"{day}T12:30", 30, others[0].address, [world.address], response="accepted")
    meet(world, "Demo", f"{day}T15:00", 30, others[1].address, [world.address], response="none", is_cancelled=True)
    meet(world, "Demo", f"{days_later(day, 1)}T15:00", 30, others[1].address, [world.address], response="none")
    wanted = [
        event.id
        for event in world.calendar.events.values()
        if event.start.startswith(day)
        and (world.address, "none") in event.attendees
        and not event.is_cancelled
        and event.organizer != who.address
    ]
    return Plan(
        instruction=f"I am away on {day}. Decline every invitation for that day that I have not answered yet, "
        f"except what {who.name} organises. Cancelled events need no answer.",
        steps=tuple(step("calendar", "respond", event_id=each, response="declined") for each in wanted),
        program=_DECLINE_PROGRAM,
        values={"who": who.name, "day": day},
    )


def _room(world: World, rng: random.Random) -> Plan:
    title, people = rng.choice(("Choir rehearsal", "Chess evening", "Spanish class")), contacts(world, rng, 3)
    old, new = rng.sample(("Attic", "Library", "Cafeteria"), 2)
    monday, wanted = next_week(world)[0], []
    invited = [person.address for person in people]
    day = days_later(monday, 21)
    for week in range(-4, 24):
        start = f"{days_later(monday, 7 * week + 1)}T18:00"
        where = rng.choice((old, old, new))
        is_cancelled = rng.random() < 0.15
        event = meet(world, title, start, 60, world.address, invited, location=where, is_cancelled=is_cancelled)
        if start >= day and where == old and not is_cancelled:
            wanted.append(event.id)
    meet(world, title, f"{days_later(day, 2)}T18:00", 60, invited[0], [world.address], location=old)
    meet(world, f"{title} for beginners", f"{days_later(day, 3)}T17:00", 60, world.address, invited, location=old)
    return Plan(
        instruction=f"From {day} on, the events called exactly {title!r} that I organise cannot be in the {old} any "
        f"more. Change the location of those that are to be there to {new!r}; leave cancelled ones as they are.",
        steps=tuple(step("calendar", "update", event_id=each, location=new) for each in wanted),
        program=_ROOM_PROGRAM,
        values={"title": title, "day": day, "old": old, "new": new},
    )


TEMPLATES = (
    TaskTemplate(name="shift-meetings", level=3, apps=("calendar", "contacts"), make=_shift),
    TaskTemplate(name="decline-day", level=2, apps=("calendar", "contacts"), make=_decline),
    TaskTemplate(name="change-room", level=2, apps=("calendar",), make=_room),
)
