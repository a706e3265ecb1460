"""Tasks in the calendar: make, move, answer and cancel events, and look up information."""

from __future__ import annotations

import random

from cairn.envs.gui.task import simple
from cairn.envs.office.clock import later
from cairn.envs.office.fixtures import contacts, meet, next_week
from cairn.envs.office.task import Plan, step
from cairn.envs.office.vocabulary import ROOMS
from cairn.envs.office.world import World

_TITLES = ("Tide table", "Harbour walk", "Seed swap", "Lantern night", "Chess evening", "Map reading")


def _create(world: World, rng: random.Random) -> Plan:
    title, room, start = rng.choice(_TITLES), rng.choice(ROOMS[:5]), f"{rng.choice(next_week(world))}T18:30"
    return Plan(
        instruction=f"Make an event {title!r} on {start[:10]} from 18:30 to 20:00 in {room}, without other people.",
        steps=(step("calendar", "create", title=title, start=start, minutes=90, location=room),),
    )


def _place(world: World, rng: random.Random) -> Plan:
    title, rooms = rng.choice(_TITLES), rng.sample(ROOMS[:5], 2)
    event = meet(world, title, f"{rng.choice(next_week(world))}T17:00", 30, world.address, [], location=rooms[0])
    return Plan(
        instruction=f"The event {title!r} will take place in {rooms[1]}, not in {rooms[0]}. Change that.",
        steps=(step("calendar", "update", event_id=event.id, location=rooms[1]),),
    )


def _cancel(world: World, rng: random.Random) -> Plan:
    title, days = rng.choice(_TITLES), next_week(world)
    events = [meet(world, title, f"{day}T17:30", 30, world.address, []) for day in days[1:4]]
    at = rng.randrange(3)
    return Plan(
        instruction=f"Cancel the {title!r} on {days[1 + at]}; on the other days it takes place.",
        steps=(step("calendar", "cancel", event_id=events[at].id),),
    )


def _answer(world: World, rng: random.Random) -> Plan:
    title, (host,), (text, response) = rng.choice(_TITLES), contacts(world, rng, 1), rng.choice(
        (("Accept", "accepted"), ("Decline", "declined"))
    )  # fmt: skip
    event = meet(world, title, f"{next_week(world)[2]}T18:00", 60, host.address, [world.address], response="none")
    return Plan(
        instruction=f"{text} the invitation to {title!r}.",
        steps=(step("calendar", "respond", event_id=event.id, response=response),),
    )


def _move(world: World, rng: random.Random) -> Plan:
    title, days, (who, other) = rng.choice(_TITLES), next_week(world), contacts(world, rng, 2)
    event = meet(world, title, f"{days[0]}T17:00", 60, world.address, [who.address])
    meet(world, title, f"{days[1]}T17:00", 60, world.address, [other.address])
    new = f"{days[3]}T{rng.randint(7, 8):02}:30"
    return Plan(
        instruction=f"I have two events {title!r} next week. Move the one with {who.address} to "
        f"{new.replace('T', ' ')}.",
        steps=(step("calendar", "move", event_id=event.id, start=new),),
    )


def _invite(world: World, rng: random.Random) -> Plan:
    title, people = rng.choice(_TITLES), contacts(world, rng, 3)
    event = meet(world, title, f"{next_week(world)[4]}T18:00", 60, world.address, [people[0].address])
    guests = [each.address for each in people[1:]]
    return Plan(
        instruction=f"Invite {guests[0]} and {guests[1]} to {title!r}, too.",
        steps=(step("calendar", "invite", event_id=event.id, attendees=guests),),
    )


def _when(world: World, rng: random.Random) -> Plan:
    title, days, (host,) = rng.choice(_TITLES), next_week(world), contacts(world, rng, 1)
    start = f"{rng.choice(days)}T{rng.randint(8, 16):02}:{rng.choice((0, 15, 45)):02}"
    event = meet(world, title, start, 45, host.address, [world.address])
    meet(world, title, f"{days[0]}T07:00", 45, host.address, [world.address], is_cancelled=True)
    return Plan(
        instruction=f"When does the event {title!r} begin that has not been cancelled? Send me day and time alone, "
        "like 2031-05-04 09:30.",
        answer=start.replace("T", " "),
        looks=(step("calendar", "search", query=title), step("calendar", "get", event_id=event.id)),
    )


def _longest(world: World, rng: random.Random) -> Plan:
    days, title = next_week(world), rng.choice(_TITLES)
    lengths = rng.sample((20, 35, 50, 65, 80, 95), 4)
    rooms = rng.sample(ROOMS[:6], 4)
    for day, minutes, room in zip(days, lengths, rooms, strict=False):
        meet(world, title, f"{day}T17:10", minutes, world.address, [], location=room)
    return Plan(
        instruction=f"{title!r} takes place several times next week. Where is the longest one? Send me the place "
        "alone.",
        answer=rooms[lengths.index(max(lengths))],
        looks=(step("calendar", "search", query=title),),
    )


def _free(world: World, rng: random.Random) -> Plan:
    title, day, (who,) = rng.choice(_TITLES), rng.choice(next_week(world)), contacts(world, rng, 1)
    meet(world, "Focus", f"{day}T09:00", rng.choice((60, 90, 120)), who.address, [])
    people = [world.address, who.address]
    while not (starts := _starts(world, day, people)):
        for event in [each for each in world.calendar.events.values() if each.start[:10] == day]:
            del world.calendar.events[event.id]
    step_ = step("calendar", "create", title=title, start=starts[-1], minutes=60, attendees=[who.address])
    return Plan(
        instruction=f"Make an event {title!r} of 60 minutes with {who.address} at the last time on {day} at which both "
        "of us are free, as the calendar finds it. It needs no place.",
        steps=(step_,),
    )


def _starts(world: World, day: str, people: list[str]) -> list[str]:
    starts = [later(f"{day}T09:00", 30 * half) for half in range(15)]
    return [start for start in starts if world.calendar.are_free(people, start, 60)]


def _answer_all(world: World, rng: random.Random) -> Plan:
    (host,), days, steps = contacts(world, rng, 1), next_week(world), []
    for event in [each for each in world.calendar.events.values() if each.organizer == host.address]:
        del world.calendar.events[event.id]
    for at, title in enumerate(rng.sample(_TITLES, 4)):
        hour = (9, 14, 11, 13)[at]
        event = meet(
            world, title, f"{days[at]}T{hour:02}:00", 30, host.address, [world.address],
            response="accepted" if at == 3 else "none",
        )  # fmt: skip
        if at < 3:
            response = "accepted" if hour < 12 else "declined"
            steps.append(step("calendar", "respond", event_id=event.id, response=response))
    return Plan(
        instruction=f"Answer the invitations by {host.address} for next week that I have not answered: accept those "
        "that begin before 12:00, decline the others.",
        steps=tuple(steps),
    )


def _move_day(world: World, rng: random.Random) -> Plan:
    title, days, (who,) = rng.choice(_TITLES), next_week(world), contacts(world, rng, 1)
    hours = rng.sample(range(8, 17), 3)
    events = [
        meet(world, f"{title} {part}", f"{days[1]}T{hour:02}:00", 30, world.address, [who.address])
        for part, hour in zip(("one", "two", "three"), hours, strict=True)
    ]
    steps = [step("calendar", "move", event_id=each.id, start=each.start.replace(days[1], days[4])) for each in events]
    return Plan(
        instruction=f"All events of {days[1]} whose title begins with {title!r} have to be on {days[4]} instead, at "
        "the same times of the day.",
        steps=tuple(steps),
    )


def _double(world: World, rng: random.Random) -> Plan:
    title, days, steps = rng.choice(_TITLES), next_week(world), []
    for at, day in enumerate(days):
        meet(world, title, f"{day}T18:00", 60, world.address, [], location="Library")
        if at in (1, 3):
            event = meet(world, title, f"{day}T18:00", 60, world.address, [], location="Attic")
            steps.append(step("calendar", "cancel", event_id=event.id))
    return Plan(
        instruction=f"On some days of next week {title!r} is in my calendar twice at the same time. Cancel those "
        "in the Attic.",
        steps=tuple(steps),
    )


TEMPLATES = (
    simple("calendar-create", 1, "calendar", _create),
    simple("calendar-change-place", 1, "calendar", _place),
    simple("calendar-cancel", 1, "calendar", _cancel),
    simple("calendar-answer", 1, "calendar", _answer),
    simple("calendar-move", 2, "calendar", _move),
    simple("calendar-invite", 2, "calendar", _invite),
    simple("calendar-when", 2, "calendar", _when),
    simple("calendar-longest", 2, "calendar", _longest),
    simple("calendar-last-free-time", 2, "calendar", _free),
    simple("calendar-answer-all", 3, "calendar", _answer_all),
    simple("calendar-move-day", 3, "calendar", _move_day),
    simple("calendar-cancel-doubles", 3, "calendar", _double),
)
