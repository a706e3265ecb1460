"""Tasks in the contacts: add, correct, merge and delete people, groups, and look-ups."""

from __future__ import annotations

import random
from dataclasses import replace

from cairn.envs.gui.task import simple
from cairn.envs.office.contacts import Contact
from cairn.envs.office.fixtures import contacts, namesakes
from cairn.envs.office.task import Plan, step
from cairn.envs.office.tasks import templates
from cairn.envs.office.world import World

_PEOPLE = ("Orla Finch", "Pim Marsh", "Romy Stone", "Quentin Vale")


def _new(world: World, rng: random.Random, **given: str) -> Contact:
    name = rng.choice(_PEOPLE)
    contact = Contact(
        id=world.new_id("c"), name=name, emails=(f"{name.split()[0].lower()}@vale.example",), **given
    )  # fmt: skip
    world.contacts.contacts[contact.id] = contact
    return contact


def _add(world: World, rng: random.Random) -> Plan:
    name, phone = rng.choice(_PEOPLE), f"+44 20 5553 {rng.randrange(10_000):04}"
    address = f"{name.split()[0].lower()}@vale.example"
    return Plan(
        instruction=f"Add a contact: {name}, mail address {address}, phone {phone}, company Valeworks.",
        steps=(step("contacts", "create", name=name, emails=[address], phone=phone, company="Valeworks"),),
    )


def _delete(world: World, rng: random.Random) -> Plan:
    who, other = namesakes(world, rng)
    return Plan(
        instruction=f"Delete {who.name} with the address {who.address} from my contacts; not {other.name}.",
        steps=(step("contacts", "delete", contact_id=who.id),),
    )


def _second(world: World, rng: random.Random) -> Plan:
    who = _new(world, rng)
    extra = f"{who.name.split()[1].lower()}{rng.randrange(10, 99)}@letterbird.example"
    return Plan(
        instruction=f"{who.name} has a second mail address, {extra}. Add it after the first one.",
        steps=(step("contacts", "update", contact_id=who.id, emails=[who.address, extra]),),
    )


def _merge(world: World, rng: random.Random) -> Plan:
    kept = _new(world, rng, birthday="1980-04-01", phone="+44 20 5551 0000")
    other = replace(kept, id=world.new_id("c"), emails=("old@letterbird.example",), birthday="")
    world.contacts.contacts[other.id] = other
    return Plan(
        instruction=f"{kept.name} is in my contacts twice. Merge the one without a birthday into the one with it.",
        steps=(step("contacts", "merge", keep_id=kept.id, other_id=other.id),),
    )


def _phone_of(world: World, rng: random.Random) -> Plan:
    phone = f"+44 20 5554 {rng.randrange(10_000):04}"
    who = _new(world, rng, phone=phone, company="Valeworks")
    return Plan(
        instruction=f"What is the phone number of {who.name}? Send me the number alone, as my contacts have it.",
        answer=phone,
        looks=(step("contacts", "get", contact_id=who.id),),
    )


def _leave_group(world: World, rng: random.Random) -> Plan:
    group = world.contacts.groups[rng.choice(sorted(world.contacts.groups))]
    leaving = [world.contacts.contacts[key] for key in rng.sample(group.members, 2)]
    return Plan(
        instruction=f"{leaving[0].address} and {leaving[1].address} leave the group {group.name!r}. Take them out.",
        steps=tuple(step("contacts", "remove_from_group", group=group.name, contact_id=each.id) for each in leaving),
    )


def _new_group(world: World, rng: random.Random) -> Plan:
    people, name = contacts(world, rng, 3), rng.choice(("Quiz team", "Car pool", "Bee keepers"))
    members = ", ".join(each.address for each in people)
    adds = [step("contacts", "add_to_group", group=name, contact_id=each.id) for each in people]
    return Plan(
        instruction=f"Make a group {name!r} with these three members: {members}.",
        steps=(step("contacts", "create_group", group=name), *adds),
    )


def _moved(world: World, rng: random.Random) -> Plan:
    people = contacts(world, rng, 3)
    for each in people:
        world.contacts.contacts[each.id] = replace(each, company="Oldmill Tea")
    return Plan(
        instruction="The company 'Oldmill Tea' is now called 'Newmill Tea'. Correct this for all my contacts who are "
        "with it.",
        steps=tuple(step("contacts", "update", contact_id=each.id, company="Newmill Tea") for each in people),
    )


TEMPLATES = (
    simple("contacts-add", 1, "contacts", _add),
    simple("contacts-delete", 1, "contacts", _delete),
    simple("contacts-second-address", 1, "contacts", _second),
    simple("contacts-new-phone", 1, "contacts", templates()["new-phone"].make),
    simple("contacts-merge", 2, "contacts", _merge),
    simple("contacts-phone-of", 2, "contacts", _phone_of),
    simple("contacts-leave-group", 2, "contacts", _leave_group),
    simple("contacts-new-group", 3, "contacts", _new_group),
    simple("contacts-company-renamed", 3, "contacts", _moved),
    simple("contacts-company-group", 3, "contacts", templates()["company-group"].make),
)
