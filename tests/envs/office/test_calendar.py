"""Calendar: each call's result and refusals, in a tiny office."""

from __future__ import annotations

from typing import Any

from cairn.envs.office.world import World
from tests.envs.office.refusals import ids, refused
from tests.envs.office.tiny import ANA, SAM, ZOE, tiny

E1: dict[str, Any] = {
    "id": "e1", "title": "Budget round", "start": "2031-05-06T10:00", "end": "2031-05-06T11:00", "location": "Room 4",
    "organizer": ANA, "attendees": [{"address": SAM, "response": "accepted"}, {"address": ZOE, "response": "none"}],
    "cancelled": False,
}  # fmt: skip


def call(world: World, name: str, /, **arguments: object) -> Any:
    return world.call("calendar", name, arguments)


def test_listing_shows_your_events_of_the_days() -> None:
    world = tiny()
    assert call(world, "list_events", first="2031-05-06", last="2031-05-06", limit=1) == {
        "items": [E1], "total": 2, "next_offset": 1,
    }  # fmt: skip
    assert ids(call(world, "list_events", first="2031-05-01", last="2031-05-31")) == [
        "e1",
        "e2",
        "e4",
    ]  # e3 is not Ana's
    refused(world, "calendar", "list_events", "first must not be after last", first="2031-05-07", last="2031-05-06")


def test_search_looks_at_titles_of_your_events() -> None:
    assert ids(call(tiny(), "search", query="BUDGET")) == ["e1", "e4"]
    assert ids(call(tiny(), "search", query="budget round")) == ["e1"]
    assert ids(call(tiny(), "search", query="secret")) == []


def test_get_adds_the_notes_and_hides_the_events_of_others() -> None:
    assert call(tiny(), "get", event_id="e1") == {**E1, "notes": "Bring figures."}
    refused(tiny(), "calendar", "get", "no event of yours 'e3'", event_id="e3")


def test_creating_invites_without_an_answer() -> None:
    world = tiny()
    reported = call(
        world, "create", title="Lunch", start="2031-05-08T12:00", minutes=45, attendees=[ZOE, SAM], location="Inn"
    )
    event = world.calendar.events[reported["id"]]
    assert (event.organizer, event.attendees, event.end) == (ANA, ((SAM, "none"), (ZOE, "none")), "2031-05-08T12:45")
    assert (event.location, event.notes, event.is_cancelled) == ("Inn", "", False)
    at = {"title": "Lunch", "start": "2031-05-08T23:30"}
    refused(world, "calendar", "create", "must end on the day", minutes=60, **at)
    refused(world, "calendar", "create", "from 5 to 600", minutes=4, **at)
    refused(world, "calendar", "create", "must not name yourself", minutes=10, attendees=[ANA], **at)
    refused(world, "calendar", "create", "like '2031-05-04T09:30'", title="A", start="2031-02-30T10:00", minutes=10)


def test_moving_keeps_the_length_and_the_answers() -> None:
    world = tiny()
    assert call(world, "move", event_id="e1", start="2031-05-07T09:30") == {
        "id": "e1", "start": "2031-05-07T09:30", "end": "2031-05-07T10:30",
    }  # fmt: skip
    assert world.calendar.events["e1"].attendees == ((SAM, "accepted"), (ZOE, "none"))
    refused(world, "calendar", "move", f"organised by {SAM}", event_id="e2", start="2031-05-07T09:30")
    refused(world, "calendar", "move", "is cancelled", event_id="e4", start="2031-05-07T09:30")
    refused(world, "calendar", "move", "must end on the day", event_id="e1", start="2031-05-07T23:30")


def test_updating_changes_only_the_given_fields() -> None:
    world = tiny()
    assert call(world, "update", event_id="e1", location="") == {
        "id": "e1", "title": "Budget round", "location": "", "notes": "Bring figures.",
    }  # fmt: skip
    assert call(world, "update", event_id="e1", title="Round", notes="-")["notes"] == "-"
    refused(world, "calendar", "update", "only the organizer", event_id="e2", title="Mine")


def test_inviting_keeps_the_answers_of_who_is_invited() -> None:
    world = tiny()
    reported = call(world, "invite", event_id="e1", attendees=[SAM, "bo@home.example"])
    assert reported["attendees"] == [{"address": "bo@home.example", "response": "none"}, *E1["attendees"]]
    refused(world, "calendar", "invite", "must not name yourself", event_id="e1", attendees=[ANA])


def test_cancelling_keeps_the_event_and_frees_the_time() -> None:
    world = tiny()
    assert call(world, "cancel", event_id="e1") == {"id": "e1", "cancelled": True}
    assert ids(call(world, "search", query="round")) == ["e1"]
    assert call(world, "busy", address=ZOE, first="2031-05-06", last="2031-05-06")["total"] == 1
    refused(world, "calendar", "cancel", "is cancelled", event_id="e1")
    refused(world, "calendar", "cancel", "only the organizer", event_id="e2")


def test_answering_an_invitation() -> None:
    world = tiny()
    assert call(world, "respond", event_id="e2", response="declined") == {"id": "e2", "response": "declined"}
    assert world.calendar.events["e2"].attendees == ((ANA, "declined"), (ZOE, "declined"))
    refused(world, "calendar", "respond", "accepted, declined, tentative; got 'yes'", event_id="e2", response="yes")
    refused(world, "calendar", "respond", "you organise", event_id="e1", response="accepted")


def test_busy_times_of_any_person_omit_declined_and_cancelled_events() -> None:
    world, day = tiny(), {"first": "2031-05-06", "last": "2031-05-07"}
    assert call(world, "busy", address=ZOE, **day)["items"] == [
        {"start": "2031-05-06T10:00", "end": "2031-05-06T11:00"},
        {"start": "2031-05-06T15:00", "end": "2031-05-06T15:30"},  # Secret: the time, nothing else
    ]
    assert call(world, "busy", address=ANA, **day)["total"] == 2  # e1, e2; e4 is cancelled


def test_free_slots_have_no_busy_attendee() -> None:
    # Ana: 10-11, 13-14:30. Two hours fit from 11:00 to 13:00 and from 14:30 to 17:00.
    starts = call(tiny(), "free_slots", day="2031-05-06", minutes=120)["items"]
    assert [start[11:] for start in starts] == ["11:00", "14:30", "15:00"]
    # Zoe is busy from 15:00 to 15:30, and free while Ana visits the site.
    starts = call(tiny(), "free_slots", day="2031-05-06", minutes=90, attendees=[ZOE])["items"]
    assert [start[11:] for start in starts] == ["11:00", "11:30", "15:30"]
    assert call(tiny(), "free_slots", day="2031-05-07", minutes=480)["items"] == ["2031-05-07T09:00"]
    assert call(tiny(), "free_slots", day="2031-05-07", minutes=485)["items"] == []
