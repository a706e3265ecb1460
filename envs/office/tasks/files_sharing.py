"""Templates that share files: with a group, in the newest version, or as minutes."""

from __future__ import annotations

import random
from dataclasses import replace

from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import before, contacts, meet, namesakes, put
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.world import World

_SHARE_PROGRAM = """
wanted = {each["emails"][0] for each in every(office.contacts.members, group=group)}
file = next(each for each in every(office.files.search, query="") if each["path"] == path)
for address in wanted - set(file["shared_with"]):
    office.files.share(path=path, address=address)
for address in set(file["shared_with"]) - wanted:
    office.files.unshare(path=path, address=address)
submit()
"""

_NEWEST_PROGRAM = """
import re

paths = [each["path"] for each in every(office.files.list_folder, folder=folder)]
versions = {int(found.group(1)): path for path in paths if (found := re.search(rf"/{name}-v(\\d+)\\.txt$", path))}
office.mail.send(to=[person(who)["emails"][0]], subject=subject, body="Attached.", files=[versions[max(versions)]])
submit()
"""

_MINUTES_PROGRAM = """
today = office.world.now()["day"]
held = [
    each
    for each in every(office.calendar.search, query=title)
    if each["title"] == title and not each["cancelled"] and each["start"][:10] < today
]
last = max(held, key=lambda event: event["start"])
me, day = office.world.me()["address"], last["start"][:10]
people = {each["address"] for each in last["attendees"] if each["response"] == "accepted"} | {last["organizer"]}
path = f"{folder}/minutes-{day}.txt"
office.files.read(path=path)  # it must be there
office.mail.send(to=sorted(people - {me}), subject=f"Minutes of {day}", body="Attached.", files=[path])
submit()
"""


def _share(world: World, rng: random.Random) -> Plan:
    group = rng.choice([each for each in world.contacts.groups.values() if len(each.members) >= 3])
    members = {world.contacts.contacts[key].address for key in group.members}
    outside = sorted({each.address for each in world.contacts.contacts.values()} - members)
    path = f"/Shared/{rng.choice(('handbook', 'rules', 'song-sheet'))}-final.txt"
    has = {*rng.sample(sorted(members), 1), *rng.sample(outside, 2)}
    file = put(world, path, "Chapter 1.\n", before(world, rng, 1, 60))
    world.files.files[path] = replace(file, shared_with=tuple(sorted(has)))
    put(world, path.replace("-final", "-final-2"), "Chapter 1.\n", before(world, rng, 1, 60))
    shares = [step("files", "share", path=path, address=address) for address in sorted(members - has)]
    unshares = [step("files", "unshare", path=path, address=address) for address in sorted(has - members)]
    return Plan(
        instruction=f"The file {path} should be shared with the members of the contact group {group.name!r}, by "
        "their main mail addresses, and with nobody else.",
        steps=(*shares, *unshares),
        program=_SHARE_PROGRAM,
        values={"group": group.name, "path": path},
    )


def _newest(world: World, rng: random.Random) -> Plan:
    folder, name, who = (
        "/Documents/Contracts",
        f"lease-{rng.choice(('attic', 'garage', 'cellar'))}",
        namesakes(world, rng)[0],
    )
    last = rng.randint(10, 12)
    for version in range(7, last + 1):
        put(world, f"{folder}/{name}-v{version}.txt", f"Version {version}.\n", before(world, rng, 1, 60))
    put(world, f"{folder}/{name}-v{last + 1}-draft.txt", "Not ready.\n", before(world, rng, 1, 2))
    put(world, f"{folder}/{name}s-v{last + 2}.txt", "Another one.\n", before(world, rng, 1, 2))
    subject, path = "The lease", f"{folder}/{name}-v{last}.txt"
    return Plan(
        instruction=f"In {folder} there are versions of a contract, called {name}-vN.txt with a number N. Send the "
        f"one with the highest number as an attachment to {who.name} (main mail address), with the subject "
        f"{subject!r}.",
        steps=(step("mail", "send", to=[who.address], subject=subject, body="Attached.", files=[path]),),
        program=_NEWEST_PROGRAM,
        values={"folder": folder, "name": name, "who": who.name, "subject": subject},
    )


def _minutes(world: World, rng: random.Random) -> Plan:
    title, folder = f"{rng.choice(('Kestrel', 'Lapwing', 'Siskin'))} board", "/Projects/Board"
    people, days = contacts(world, rng, 5), [days_later(day_of(world.now), -back) for back in (4, 11, 18, 25)]
    answers = dict(
        zip((each.address for each in people[1:]), ("accepted", "accepted", "declined", "none"), strict=True)
    )
    for number, day in enumerate([*days, days_later(day_of(world.now), 3)]):
        event = meet(world, title, f"{day}T14:00", 60, people[0].address, [], is_cancelled=number == 0)
        changed = {**answers, world.address: "accepted"}
        if number != 1:
            changed[people[3].address] = "accepted"
        world.calendar.events[event.id] = replace(event, attendees=tuple(sorted(changed.items())))
        put(world, f"{folder}/minutes-{day}.txt", f"Present: {number + 3} people.\n", before(world, rng, 1, 3))
    path, subject = f"{folder}/minutes-{days[1]}.txt", f"Minutes of {days[1]}"
    to = [address for address, answer in answers.items() if answer == "accepted"] + [people[0].address]
    return Plan(
        instruction=f"Take the last event called {title!r} before today that was not cancelled. Send its minutes, "
        f"the file {folder}/minutes-YYYY-MM-DD.txt of its day, as an attachment of one mail to its organizer and "
        "all attendees who accepted, but not to me. The subject is 'Minutes of YYYY-MM-DD'.",
        steps=(step("mail", "send", to=to, subject=subject, body="Attached.", files=[path]),),
        program=_MINUTES_PROGRAM,
        values={"title": title, "folder": folder},
    )


TEMPLATES = (
    TaskTemplate(name="share-with-group", level=2, apps=("files", "contacts"), make=_share),
    TaskTemplate(name="send-newest-version", level=2, apps=("files", "mail", "contacts"), make=_newest),
    TaskTemplate(name="send-minutes", level=3, apps=("calendar", "files", "mail"), make=_minutes),
)
