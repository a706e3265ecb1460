"""The world as a whole: its canonical state, copies, ids and log."""

from __future__ import annotations

import json

from cairn.envs.office.calls import OfficeError
from cairn.envs.office.generator import populate
from cairn.envs.office.world import World
from tests.envs.office.tiny import SAM, tiny


def test_now_and_me() -> None:
    world = tiny()
    assert world.call("world", "now", {}) == {"now": "2031-05-05T08:00", "day": "2031-05-05", "weekday": "Monday"}
    assert world.call("world", "me", {}) == {"name": "Ana Brandt", "address": "ana@home.example"}


def test_the_state_is_canonical_json_of_all_tables() -> None:
    world = tiny()
    state = json.loads(world.state())
    assert json.dumps(state, sort_keys=True, separators=(",", ":")).encode() == world.state()
    assert {name: set(table) for name, table in state["tables"].items()} == {
        name: set(table) for name, table in world.tables.items()
    }
    assert state["tables"]["mails"]["m1"]["attachments"] == [{"name": "offer.txt", "text": "Fence, 12 m: 480.00"}]


def test_the_order_in_which_records_came_is_not_part_of_the_state() -> None:
    world, other = tiny(), tiny()
    other.mail.mails = dict(reversed(other.mail.mails.items()))
    assert other.state() == world.state()


def test_the_state_changes_with_every_write_and_with_no_read() -> None:
    world = tiny()
    state = world.state()
    world.call("mail", "search", {})
    world.call("mail", "get", {"mail_id": "m1"})
    assert world.state() == state
    world.call("mail", "mark", {"mail_id": "m1", "read": True})
    assert world.state() != state
    world.call("mail", "mark", {"mail_id": "m1", "read": False})
    assert world.state() == state


def test_how_many_ids_were_given_out_is_part_of_the_state() -> None:
    """A contact made and deleted leaves nothing but the ids of those to come."""
    world, other = tiny(), tiny()
    key = world.call("contacts", "create", {"name": "Bo", "emails": [SAM]})["id"]  # type: ignore[index]  # JSON
    world.call("contacts", "delete", {"contact_id": key})
    assert world.tables == other.tables
    assert world.state() != other.state()


def test_equal_calls_give_equal_worlds() -> None:
    calls: list[tuple[str, str, dict[str, object]]] = [
        ("mail", "send", {"to": [SAM], "subject": "A", "body": "B"}),
        ("calendar", "create", {"title": "A", "start": "2031-05-06T09:00", "minutes": 30}),
        ("payments", "move_money", {"from_account_id": "a1", "to_account_id": "a2", "amount": 5}),
    ]
    worlds = tiny(), tiny()
    for world in worlds:
        for app, name, arguments in calls:
            world.call(app, name, arguments)
    assert worlds[0].state() == worlds[1].state()
    assert worlds[0].state() != tiny().state()


def test_a_copy_is_equal_and_independent() -> None:
    world = tiny()
    world.call("world", "now", {})
    copy = world.copy()
    assert (copy.state(), copy.log) == (world.state(), world.log)
    state = world.state()
    copy.call("mail", "move", {"mail_id": "m1", "folder": "trash"})
    copy.call("files", "delete", {"path": "/top.txt"})
    copy.call("contacts", "delete", {"contact_id": "c1"})
    assert world.state() == state
    assert len(world.log) == 1
    assert copy.contacts.world is copy


def test_ids_are_never_given_out_twice() -> None:
    for seed in (0, 1, 10**9):
        world = World(seed=seed, now="2031-05-05T08:00", owner="A", address="a@home.example")
        found = [world.new_id("m") for _ in range(5_000)]
        assert len(set(found)) == len(found)
        assert sorted(found) != found


def test_the_log_has_every_call_with_its_arguments_and_end() -> None:
    world = tiny()
    world.call("mail", "get", {"mail_id": "m1"})
    for app, name, arguments in (
        ("mail", "get", {"mail_id": "m9"}),
        ("nothing", "get", {}),
        ("mail", "none", {"a": 1}),
    ):
        try:
            world.call(app, name, arguments)
        except OfficeError:
            continue
        raise AssertionError("must fail")
    assert [(entry.app, entry.name, dict(entry.arguments), entry.ok) for entry in world.log] == [
        ("mail", "get", {"mail_id": "m1"}, True),
        ("mail", "get", {"mail_id": "m9"}, False),
        ("nothing", "get", {}, False),
        ("mail", "none", {"a": 1}, False),
    ]


def test_populated_worlds_share_no_change() -> None:
    first = populate(3)
    state = first.state()
    first.call("contacts", "create", {"name": "A", "emails": [SAM]})
    assert populate(3).state() == state
