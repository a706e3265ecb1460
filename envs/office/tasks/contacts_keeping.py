"""Templates for contacts: merge duplicates, update a phone, make a group, find birthdays."""

from __future__ import annotations

import random
from dataclasses import replace

from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.contacts import Contact
from cairn.envs.office.fixtures import contacts
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.world import World

_MERGE_PROGRAM = """
by_key = {}
for contact in every(office.contacts.search):
    if contact["phone"]:
        by_key.setdefault((contact["name"], contact["phone"]), []).append(contact)
members = {contact["id"] for contact in every(office.contacts.members, group=group)}
for same in by_key.values():
    if len(same) == 2:
        kept, other = sorted(same, key=lambda contact: not contact["birthday"])
        office.contacts.merge(keep_id=kept["id"], other_id=other["id"])
        office.contacts.add_to_group(group=group, contact_id=kept["id"])
submit()
"""

_PHONE_PROGRAM = """
found = every(office.contacts.search, query=first, company=company)
found = [each for each in found if each["name"].split()[0] == first]
office.contacts.update(contact_id=found[0]["id"], phone=phone)
submit()
"""

_GROUP_PROGRAM = """
office.contacts.create_group(group=group)
for contact in every(office.contacts.search, company=company):
    office.contacts.add_to_group(group=group, contact_id=contact["id"])
submit()
"""

_BIRTHDAY_PROGRAM = """
people = every(office.contacts.members, group=group)
submit([contact["name"] for contact in people if contact["birthday"][5:7] == f"{month:02}"])
"""


def _merge(world: World, rng: random.Random) -> Plan:
    group = world.contacts.groups[rng.choice(sorted(world.contacts.groups))]
    outside = [world.contacts.contacts[key] for key in world.contacts.contacts if key not in group.members]
    steps = []
    for kept in rng.sample(outside, 3):
        kept = _keep(world, replace(kept, phone=f"+44 20 5551 {rng.randrange(10_000):04}", birthday="1980-04-01"))
        twin = f"{kept.name.split()[0].lower()}{rng.randrange(10, 100)}@letterbird.example"
        other = _keep(world, Contact(id=world.new_id("c"), name=kept.name, emails=(twin,), phone=kept.phone))
        steps.append(step("contacts", "merge", keep_id=kept.id, other_id=other.id))
        steps.append(step("contacts", "add_to_group", group=group.name, contact_id=kept.id))
    namesake = replace(kept, id=world.new_id("c"), phone="+44 20 5552 0000", emails=(f"x{twin}",))
    _keep(world, namesake)
    return Plan(
        instruction="Some people are in my contacts twice: same name and same phone number. Merge each two into "
        "the one that has a birthday, with contacts.merge, and see to it that they are in the group "
        f"{group.name!r}. People of the same name with different phone numbers are different people.",
        steps=tuple(steps),
        program=_MERGE_PROGRAM,
        values={"group": group.name},
    )


def _keep(world: World, contact: Contact) -> Contact:
    world.contacts.contacts[contact.id] = contact
    return contact


def _phone(world: World, rng: random.Random) -> Plan:
    who, other = contacts(world, rng, 2)
    first, phone = "Sam", f"+44 20 5559 {rng.randrange(10_000):04}"
    company, where = rng.sample(("Quillfeather", "Rookery Films", "Sable & Sons"), 2)
    who = _keep(world, replace(who, name=f"{first} {who.name.split()[1]}", company=company))
    _keep(world, replace(other, name=f"{first} {other.name.split()[1]}", company=where))
    _keep(
        world,
        replace(other, id=world.new_id("c"), name="Samira Holm", company=company, emails=("samira@postbox.example",)),
    )
    return Plan(
        instruction=f"{first} who works at {company} has a new phone number: {phone}. Put it into my contacts in "
        "place of the old one.",
        steps=(step("contacts", "update", contact_id=who.id, phone=phone),),
        program=_PHONE_PROGRAM,
        values={"first": first, "company": company, "phone": phone},
    )


def _group(world: World, rng: random.Random) -> Plan:
    companies = [contact.company for contact in world.contacts.contacts.values() if contact.company]
    company = max(sorted(set(companies)), key=companies.count)
    name = f"{company} people"
    wanted = [contact.id for contact in world.contacts.contacts.values() if contact.company == company]
    adds = (step("contacts", "add_to_group", group=name, contact_id=key) for key in wanted)
    return Plan(
        instruction=f"Make a contact group {name!r} of all my contacts whose company is {company}.",
        steps=(step("contacts", "create_group", group=name), *adds),
        program=_GROUP_PROGRAM,
        values={"group": name, "company": company},
    )


def _birthdays(world: World, rng: random.Random) -> Plan:
    group = world.contacts.groups[rng.choice(sorted(world.contacts.groups))]
    month = int(days_later(day_of(world.now)[:8] + "28", 7)[5:7])
    for key in rng.sample(group.members, 2):
        birthday = f"{rng.randint(1960, 2000)}-{month:02}-{rng.randint(1, 28):02}"
        _keep(world, replace(world.contacts.contacts[key], birthday=birthday))
    members = [world.contacts.contacts[key] for key in group.members]
    return Plan(
        instruction=f"Who in the contact group {group.name!r} has a birthday next month? Submit a list of their "
        "names as my contacts have them.",
        answer=tuple(sorted(contact.name for contact in members if contact.birthday[5:7] == f"{month:02}")),
        program=_BIRTHDAY_PROGRAM,
        values={"group": group.name, "month": month},
    )


TEMPLATES = (
    TaskTemplate(name="merge-duplicates", level=2, apps=("contacts",), make=_merge),
    TaskTemplate(name="new-phone", level=1, apps=("contacts",), make=_phone),
    TaskTemplate(name="company-group", level=1, apps=("contacts",), make=_group),
    TaskTemplate(name="birthdays", level=1, apps=("contacts",), make=_birthdays),
)
