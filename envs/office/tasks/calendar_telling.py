"""Templates that report on the calendar: the busiest day, and a mail that lists meetings."""

from __future__ import annotations

import random

from cairn.envs.office.fixtures import meet, namesakes, next_week
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.world import World

_BUSIEST_PROGRAM = """
from datetime import datetime

me, minutes = office.world.me()["address"], {}
for event in every(office.calendar.list_events, first=first, last=last):
    if not event["cancelled"] and {"address": me, "response": "declined"} not in event["attendees"]:
        length = datetime.fromisoformat(event["end"]) - datetime.fromisoformat(event["start"])
        day = event["start"][:10]
        minutes[day] = minutes.get(day, 0) + length.total_seconds()
submit(max(minutes, key=minutes.get))
"""

_AGENDA_PROGRAM = """
address = person(who)["emails"][0]
lines = []
for event in every(office.calendar.list_events, first=first, last=last):
    people = [event["organizer"], *[each["address"] for each in event["attendees"]]]
    if address in people and not event["cancelled"]:
        lines.append(event["start"].replace("T", " "))
office.mail.send(to=[address], subject=subject, body="\\n".join(lines))
submit()
"""


def _busiest(world: World, rng: random.Random) -> Plan:
    days = next_week(world)
    minutes = dict.fromkeys(days, 0)
    for event in world.calendar.events.values():
        if event.start[:10] in minutes and event.occupies(world.address):
            minutes[event.start[:10]] += event.minutes
    fullest = rng.choice(days)
    lacking = max(minutes.values()) - minutes[fullest] + 5
    for number in range(0, lacking, 120):
        at = f"{fullest}T{8 + number // 120 % 9:02}:00"
        meet(world, "Preparation", at, max(5, min(120, lacking - number)), world.address, [])
    other = rng.choice([day for day in days if day != fullest])
    host = namesakes(world, rng)[0].address
    meet(world, "Away day", f"{other}T08:00", 600, host, [world.address], response="declined")
    meet(world, "Old away day", f"{other}T08:00", 600, world.address, [host], is_cancelled=True)
    return Plan(
        instruction=f"On which day from {days[0]} to {days[4]} do my events take the most minutes in all? Leave out "
        "those that are cancelled and those that I declined; where events overlap, each counts in full. Submit the "
        f"day, like {days[0]!r}.",
        answer=fullest,
        program=_BUSIEST_PROGRAM,
        values={"first": days[0], "last": days[4]},
    )


def _agenda(world: World, rng: random.Random) -> Plan:
    who, other = namesakes(world, rng)
    days = next_week(world)
    for at, day in enumerate(rng.sample(days, 2)):
        meet(world, "Handover", f"{day}T{9 + at:02}:30", 30, world.address, [who.address, other.address])
    meet(world, "Handover", f"{days[1]}T15:00", 30, who.address, [world.address], is_cancelled=True)
    meet(world, "Handover", f"{days[2]}T15:30", 30, other.address, [world.address])
    starts = sorted(
        event.start.replace("T", " ")
        for event in world.calendar.events.values()
        if days[0] <= event.start[:10] <= days[4]
        and event.is_with(who.address)
        and event.is_with(world.address)
        and not event.is_cancelled
    )
    subject = "Our meetings next week"
    return Plan(
        instruction=f"Send {who.name} (main mail address) a mail with the subject {subject!r} that lists the date "
        f"and start, like '{days[0]} 09:30', of every event from {days[0]} to {days[4]} that each of us organises "
        "or is invited to. Leave out cancelled ones, and write no other days or times.",
        steps=(
            step("mail", "send", to=[who.address], subject=subject, body="\n".join(starts), says=tuple(starts),
                 says_only=True),
        ),
        program=_AGENDA_PROGRAM,
        values={"who": who.name, "first": days[0], "last": days[4], "subject": subject},
    )  # fmt: skip


TEMPLATES = (
    TaskTemplate(name="busiest-day", level=2, apps=("calendar",), make=_busiest),
    TaskTemplate(name="mail-agenda", level=2, apps=("calendar", "mail", "contacts"), make=_agenda),
)
