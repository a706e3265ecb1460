"""Calendar: the owner's events and other people's busy times.

Moving an event keeps its length and the responses. Events of other people are visible only as their busy times. Not
supported: recurrence, time zones, events over midnight.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from cairn.envs.office.app import App, find, require
from cairn.envs.office.calls import (
    Address,
    Addresses,
    Day,
    Limit,
    Line,
    Minutes,
    Moment,
    Offset,
    Words,
    call,
    page,
    shown,
)
from cairn.envs.office.clock import day_of, later, overlaps

RESPONSES = ("accepted", "declined", "tentative")
FIRST, LAST, GRID = "09:00", "17:00", 30  # free slots: earliest start, latest end, minutes between starts
_LIST = "calendar.list_events and calendar.search list events"


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """An event with a start, a length and attendees."""

    id: str
    title: str
    start: str  # moment
    minutes: int
    organizer: str  # address
    attendees: tuple[tuple[str, str], ...] = ()  # (address, response or "none"), without the organizer
    location: str = ""
    notes: str = ""
    is_cancelled: bool = False

    @property
    def end(self) -> str:
        """The moment at which the event ends."""
        return later(self.start, self.minutes)

    def is_with(self, address: str) -> bool:
        """Return whether a person organises or attends the event, with any response."""
        return address == self.organizer or any(address == who for who, _ in self.attendees)

    def occupies(self, address: str) -> bool:
        """Return whether the event takes a person's time: not cancelled or declined by the person."""
        return not self.is_cancelled and self.is_with(address) and (address, "declined") not in self.attendees


class Calendar(App):
    """Events with attendees, and when people are free."""

    name = "calendar"
    tables: ClassVar[tuple[str, ...]] = ("events",)
    derived: ClassVar = {"events": frozenset({"id"})}
    free = frozenset({("events", "notes")})
    sets = frozenset({("events", "attendees")})
    titles: ClassVar = {"events": "title"}
    events: dict[str, Event]

    @call
    def list_events(self, *, first: Day, last: Day, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List your events from one day to another, both included, earliest first; also cancelled and declined ones.

        Each attendee's response is accepted, declined, tentative or none.

        Example: {"items": [{"id": "e-91kd2", "title": "Budget round", "start": "2031-05-06T10:00",
        "end": "2031-05-06T11:00", "location": "Room 4", "organizer": "ana@home.example",
        "attendees": [{"address": "sam@home.example", "response": "accepted"}], "cancelled": false}],
        "total": 1, "next_offset": null}
        """
        require(first <= last, f"first must not be after last; got {first} and {last}")
        found = [event for event in self._mine() if first <= day_of(event.start) <= last]
        return page(map(_summary, _by_start(found)), limit, offset)

    @call
    def search(self, *, query: Words, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """Find your events, earliest first: every word of the query occurs in the title, case ignored.

        Example: {"items": [{"id": "e-91kd2", "title": "Budget round", "start": "2031-05-06T10:00",
        "end": "2031-05-06T11:00", "location": "Room 4", "organizer": "ana@home.example",
        "attendees": [{"address": "sam@home.example", "response": "accepted"}], "cancelled": false}],
        "total": 1, "next_offset": null}
        """
        words = query.casefold().split()
        found = [event for event in self._mine() if all(word in event.title.casefold() for word in words)]
        return page(map(_summary, _by_start(found)), limit, offset)

    @call
    def get(self, *, event_id: str) -> dict[str, object]:
        """Return one of your events with its notes.

        Example: {"id": "e-91kd2", "title": "Budget round", "start": "2031-05-06T10:00", "end": "2031-05-06T11:00",
        "location": "Room 4", "organizer": "ana@home.example",
        "attendees": [{"address": "sam@home.example", "response": "none"}], "cancelled": false, "notes": ""}
        """
        event = self._find(event_id)
        return {**_summary(event), "notes": event.notes}

    @call
    def create(
        self,
        *,
        title: Line,
        start: Moment,
        minutes: Minutes,
        attendees: Addresses | None = None,
        location: Words = "",
        notes: str = "",
    ) -> dict[str, object]:
        """Make an event that you organise, and invite people. Nothing checks whether anybody is free.

        Example: {"id": "e-55q0z"}
        """
        invited = attendees or []
        require(self.world.address not in invited, "attendees must not name yourself: the organizer takes part anyway")
        _require_one_day(start, minutes)
        event = Event(
            id=self.world.new_id("e"),
            title=title,
            start=start,
            minutes=minutes,
            organizer=self.world.address,
            attendees=tuple((address, "none") for address in sorted(invited)),
            location=location,
            notes=notes,
        )
        self._keep(event)
        return {"id": event.id}

    @call
    def move(self, *, event_id: str, start: Moment) -> dict[str, object]:
        """Give an event that you organise another start; its length stays.

        Example: {"id": "e-91kd2", "start": "2031-05-07T10:00", "end": "2031-05-07T11:00"}
        """
        event = replace(self._find_own(event_id), start=start)
        _require_one_day(start, event.minutes)
        self._keep(event)
        return {"id": event.id, "start": event.start, "end": event.end}

    @call
    def update(
        self, *, event_id: str, title: Line | None = None, location: Words | None = None, notes: str | None = None
    ) -> dict[str, object]:
        """Change the title, location or notes of an event that you organise; those that are None stay unchanged.

        Example: {"id": "e-91kd2", "title": "Budget round", "location": "Room 5", "notes": ""}
        """
        event = self._find_own(event_id)
        event = replace(
            event,
            title=event.title if title is None else title,
            location=event.location if location is None else location,
            notes=event.notes if notes is None else notes,
        )
        self._keep(event)
        return {"id": event.id, "title": event.title, "location": event.location, "notes": event.notes}

    @call
    def invite(self, *, event_id: str, attendees: Addresses) -> dict[str, object]:
        """Invite more people to an event that you organise; who is invited already stays as they are.

        Example: {"id": "e-91kd2", "attendees": [{"address": "sam@home.example", "response": "none"}]}
        """
        event = self._find_own(event_id)
        require(
            self.world.address not in attendees, "attendees must not name yourself: the organizer takes part anyway"
        )
        answers = {**dict.fromkeys(attendees, "none"), **dict(event.attendees)}
        event = replace(event, attendees=tuple(sorted(answers.items())))
        self._keep(event)
        return {"id": event.id, "attendees": _attendees(event)}

    @call
    def cancel(self, *, event_id: str) -> dict[str, object]:
        """Cancel an event that you organise. It stays in the calendar and takes nobody's time.

        Example: {"id": "e-91kd2", "cancelled": true}
        """
        event = self._find_own(event_id)
        self._keep(replace(event, is_cancelled=True))
        return {"id": event.id, "cancelled": True}

    @call
    def respond(self, *, event_id: str, response: str) -> dict[str, object]:
        """Answer an invitation: accepted, declined or tentative.

        Example: {"id": "e-20bb7", "response": "declined"}
        """
        event, me = self._find(event_id), self.world.address
        require(response in RESPONSES, f"response must be one of {', '.join(RESPONSES)}; got {shown(response)}")
        require(event.organizer != me, f"you organise the event {event_id!r}; cancel or move it instead")
        require(not event.is_cancelled, f"the event {event_id!r} is cancelled")
        answers = {**dict(event.attendees), me: response}
        self._keep(replace(event, attendees=tuple(sorted(answers.items()))))
        return {"id": event.id, "response": response}

    @call
    def busy(
        self, *, address: Address, first: Day, last: Day, limit: Limit = 20, offset: Offset = 0
    ) -> dict[str, object]:
        """List when a person, you or another, is busy from one day to another, without other fields of the events.

        Cancelled events and those that the person declined do not count; unanswered ones do.

        Example: {"items": [{"start": "2031-05-06T10:00", "end": "2031-05-06T11:00"}], "total": 1, "next_offset": null}
        """
        require(first <= last, f"first must not be after last; got {first} and {last}")
        found = [e for e in self.events.values() if e.occupies(address) and first <= day_of(e.start) <= last]
        return page(({"start": e.start, "end": e.end} for e in _by_start(found)), limit, offset)

    @call
    def free_slots(
        self, *, day: Day, minutes: Minutes, attendees: Addresses | None = None, limit: Limit = 20, offset: Offset = 0
    ) -> dict[str, object]:
        """List the starts on a day at which you and all attendees are free for so long, earliest first.

        Starts are on the hour and half hour, from 09:00; the end is at 17:00 at the latest.

        Example: {"items": ["2031-05-06T09:00", "2031-05-06T09:30"], "total": 2, "next_offset": null}
        """
        people = [self.world.address, *(attendees or [])]
        starts = [start for start in _starts(day, minutes) if self.are_free(people, start, minutes)]
        return page(starts, limit, offset)

    def are_free(self, people: Collection[str], start: str, minutes: int) -> bool:
        """Return whether none of these people is busy at that time."""
        end = later(start, minutes)
        nearby = (event for event in self.events.values() if event.start[:10] == start[:10])
        return not any(
            overlaps(start, end, event.start, event.end) and any(map(event.occupies, people)) for event in nearby
        )

    def _mine(self) -> Iterator[Event]:
        return (event for event in self.events.values() if event.is_with(self.world.address))

    def _find(self, event_id: str) -> Event:
        return find({event.id: event for event in self._mine()}, event_id, "event of yours", _LIST)

    def _find_own(self, event_id: str) -> Event:
        event = self._find(event_id)
        require(
            event.organizer == self.world.address,
            f"the event {event_id!r} is organised by {event.organizer}; only the organizer can change it",
        )
        require(not event.is_cancelled, f"the event {event_id!r} is cancelled")
        return event

    def _keep(self, event: Event) -> None:
        self.events[event.id] = event


def _require_one_day(start: str, minutes: int) -> None:
    is_so = day_of(later(start, minutes)) == day_of(start)
    require(is_so, f"an event must end on the day it starts; got {minutes} minutes from {start}")


def _starts(day: str, minutes: int) -> Iterator[str]:
    start, last = f"{day}T{FIRST}", f"{day}T{LAST}"
    while later(start, minutes) <= last:
        yield start
        start = later(start, GRID)


def _by_start(events: Iterable[Event]) -> list[Event]:
    return sorted(events, key=lambda event: (event.start, event.id))


def _attendees(event: Event) -> list[dict[str, str]]:
    return [{"address": address, "response": response} for address, response in event.attendees]


def _summary(event: Event) -> dict[str, object]:
    return {
        "id": event.id,
        "title": event.title,
        "start": event.start,
        "end": event.end,
        "location": event.location,
        "organizer": event.organizer,
        "attendees": _attendees(event),
        "cancelled": event.is_cancelled,
    }
