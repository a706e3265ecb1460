"""Contacts: each call's result and refusals, in a tiny office."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.envs.office.world import World
from tests.envs.office.refusals import ids, refused
from tests.envs.office.tiny import SAM, SAM2, ZOE, tiny

C1 = {
    "id": "c1", "name": "Sam Field", "emails": [SAM], "phone": "1234", "birthday": "1994-02-11",
    "company": "Brightwater",
}  # fmt: skip


def call(world: World, name: str, /, **arguments: object) -> Any:
    return world.call("contacts", name, arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["c1", "c2", "c3"]),
        ({"query": "SAM field"}, ["c1", "c2"]),
        ({"query": "work.example"}, ["c2"]),
        ({"query": "123"}, ["c1"]),
        ({"company": "Brightwater"}, ["c1", "c3"]),
        ({"company": "Bright"}, []),
        ({"birthday_month": 2}, ["c1"]),
        ({"birthday_month": 12}, ["c2"]),
    ],
)
def test_search(arguments: dict[str, object], expected: list[str]) -> None:
    assert ids(call(tiny(), "search", **arguments)) == expected


def test_get_and_search_return_all_fields() -> None:
    assert call(tiny(), "get", contact_id="c1") == C1
    assert call(tiny(), "search", limit=1) == {"items": [C1], "total": 3, "next_offset": 1}
    refused(tiny(), "contacts", "get", "no contact 'c9'", contact_id="c9")
    refused(tiny(), "contacts", "search", "from 1 for January to 12", birthday_month=13)


def test_creating_and_updating() -> None:
    world = tiny()
    key = call(world, "create", name="Bo Lee", emails=["bo@home.example"], birthday="2000-02-29")["id"]
    reported = {"id": key, "name": "Bo Lee", "emails": ["bo@home.example"], "phone": "", "company": ""}
    assert call(world, "get", contact_id=key) == {**reported, "birthday": "2000-02-29"}
    assert call(world, "update", contact_id="c1", phone="99", company="") == {**C1, "phone": "99", "company": ""}
    assert call(world, "update", contact_id="c1", emails=[ZOE])["emails"] == [ZOE]
    refused(world, "contacts", "create", "at least one address", name="A", emails=[])
    refused(world, "contacts", "update", "at least one address", contact_id="c1", emails=[])
    refused(world, "contacts", "create", "a date like", name="A", emails=[SAM], birthday="1999-02-29")
    refused(world, "contacts", "create", "in lower case", name="A", emails=["Sam@home.example"])


def test_merging_fills_empty_fields_and_replaces_the_other_contact_in_groups() -> None:
    world = tiny()
    assert call(world, "merge", keep_id="c3", other_id="c2") == {
        "id": "c3", "name": "Zoe Hill", "emails": [ZOE, SAM2, SAM], "phone": "", "birthday": "1990-12-01",
        "company": "Brightwater",
    }  # fmt: skip
    assert set(world.contacts.contacts) == {"c1", "c3"}
    assert world.contacts.groups["Choir"].members == ("c3",)
    refused(world, "contacts", "merge", "must differ", keep_id="c1", other_id="c1")
    refused(world, "contacts", "merge", "no contact 'c2'", keep_id="c1", other_id="c2")


def test_the_kept_contact_joins_the_groups_of_the_other() -> None:
    world = tiny()
    call(world, "merge", keep_id="c1", other_id="c2")  # c2 and c3 sing, c1 did not
    assert world.contacts.groups["Choir"].members == ("c1", "c3")
    assert world.contacts.contacts["c1"].emails == (SAM, SAM2)  # no address twice


def test_deleting_leaves_groups() -> None:
    world = tiny()
    assert call(world, "delete", contact_id="c2") == {"id": "c2", "deleted": True}
    assert world.contacts.groups["Choir"].members == ("c3",)
    refused(world, "contacts", "delete", "no contact", contact_id="c2")


def test_groups() -> None:
    world = tiny()
    assert call(world, "list_groups")["items"] == [{"name": "Choir", "size": 2}, {"name": "Empty", "size": 0}]
    assert ids(call(world, "members", group="Choir")) == ["c2", "c3"]
    assert call(world, "create_group", group="Chess") == {"name": "Chess", "size": 0}
    assert call(world, "add_to_group", group="Chess", contact_id="c1") == {"name": "Chess", "size": 1}
    assert call(world, "add_to_group", group="Chess", contact_id="c1") == {"name": "Chess", "size": 1}
    assert call(world, "remove_from_group", group="Chess", contact_id="c1") == {"name": "Chess", "size": 0}
    refused(world, "contacts", "remove_from_group", "no member 'c1'", group="Chess", contact_id="c1")
    refused(world, "contacts", "create_group", "a group 'Chess' already", group="Chess")
    refused(world, "contacts", "add_to_group", "no contact", group="Chess", contact_id="c9")
    refused(world, "contacts", "members", "no group 'Choirs'; did you mean 'Choir'?", group="Choirs")
