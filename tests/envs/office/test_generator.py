"""Generated worlds: as large, as varied and as confusing as promised, and sound."""

from __future__ import annotations

from collections import Counter

import pytest

from cairn.envs.office.calls import calls_of
from cairn.envs.office.clock import day_of
from cairn.envs.office.files import parent
from cairn.envs.office.generator import populate
from cairn.envs.office.world import World


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return [populate(seed) for seed in range(60)]


@pytest.mark.parametrize(
    ("table", "least", "most"),
    [("contacts", 20, 60), ("mails", 80, 300), ("events", 40, 120), ("files", 30, 80), ("accounts", 3, 5),
     ("payees", 8, 13), ("transactions", 50, 110), ("requests", 8, 16), ("groups", 4, 4)],
)  # fmt: skip
def test_worlds_have_the_sizes_that_they_promise(table: str, least: int, most: int, worlds: list[World]) -> None:
    sizes = [len(world.tables[table]) for world in worlds]
    assert least <= min(sizes)
    assert max(sizes) <= most


def test_there_are_namesakes_and_near_names(worlds: list[World]) -> None:
    for world in worlds:
        names = [contact.name for contact in world.contacts.contacts.values()]
        assert len(set(names)) == len(names)
        firsts = Counter(name.split()[0] for name in names)
        assert sum(count > 1 for count in firsts.values()) >= 4
        near = [
            name
            for name in names
            if name.split()[0] in ["Anna", "Ana", "Jon", "John", "Karl", "Carl", "Sofia", "Sophia"]
        ]
        assert any(one.split()[1] == other.split()[1] for one in near for other in near if one != other)


def test_addresses_of_contacts_are_unique(worlds: list[World]) -> None:
    for world in worlds:
        addresses = [address for contact in world.contacts.contacts.values() for address in contact.emails]
        assert len(set(addresses)) == len(addresses)
        assert world.address not in addresses


def test_records_are_in_the_past_and_events_also_in_the_future(worlds: list[World]) -> None:
    for world in worlds:
        today = day_of(world.now)
        assert all(mail.sent_at < world.now for mail in world.mail.mails.values())
        assert all(each.at < today for each in world.payments.transactions.values())
        assert all(file.modified_at < world.now for file in world.files.files.values())
        days = [day_of(event.start) for event in world.calendar.events.values()]
        assert min(days) < today < max(days)


def test_money_adds_up(worlds: list[World]) -> None:
    for world in worlds:
        for account in world.payments.accounts.values():
            booked = sum(each.amount for each in world.payments.transactions.values() if each.account == account.id)
            assert account.balance == account.opening + booked
            assert account.opening >= 0
            assert account.balance >= 200_000
        assert {"Checking", "Savings", "Household"} <= {each.name for each in world.payments.accounts.values()}


def test_references_lead_somewhere(worlds: list[World]) -> None:
    for world in worlds:
        assert all(parent(path) in world.files.folders for path in world.files.files)
        members = {key for group in world.contacts.groups.values() for key in group.members}
        assert members <= set(world.contacts.contacts)
        accounts, payees = set(world.payments.accounts), set(world.payments.payees)
        assert {each.account for each in world.payments.transactions.values()} <= accounts
        paid = {each.party for each in world.payments.transactions.values() if each.kind == "transfer"}
        assert paid <= payees
        assert all(mail.id == key for key, mail in world.mail.mails.items())


def test_mail_is_in_every_folder_and_in_threads(worlds: list[World]) -> None:
    folders = Counter(mail.folder for world in worlds for mail in world.mail.mails.values())
    assert set(folders) == {"inbox", "archive", "sent", "drafts", "trash"}
    assert min(folders.values()) > 100
    for world in worlds:
        sizes = Counter(mail.thread for mail in world.mail.mails.values())
        assert max(sizes.values()) >= 3
        assert all((mail.folder in ("sent", "drafts")) == (mail.sender == world.address)
                   for mail in world.mail.mails.values())  # fmt: skip


def test_others_have_events_that_cannot_be_seen(worlds: list[World]) -> None:
    hidden = [event for world in worlds for event in world.calendar.events.values() if not event.is_with(world.address)]
    assert len(hidden) > 300


def test_all_that_the_owner_may_list_can_be_listed(worlds: list[World]) -> None:
    """Every call without required arguments works in a generated world."""
    for world in worlds[:5]:
        for name, app in world.apps.items():
            for call in calls_of(type(app)).values():
                if not any(parameter.is_required for parameter in call.parameters.values()):
                    world.call(name, call.name, {})


def test_worlds_differ(worlds: list[World]) -> None:
    assert len({world.state() for world in worlds}) == len(worlds)
    assert isinstance(worlds[0], World)
