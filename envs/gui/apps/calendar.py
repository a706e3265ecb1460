"""Calendar application: weeks, events with responses, free times, and people's busy times.

Days and times are typed as text, because browsers' own date inputs differ by language.
"""

from __future__ import annotations

from collections.abc import Iterator

from cairn.envs.gui.locate import Json, everything, turn_to
from cairn.envs.gui.parts import (
    Bar,
    Button,
    FactList,
    Field,
    Form,
    Link,
    Nav,
    Page,
    Prose,
    Row,
    Table,
    address,
    distinct,
    pager,
)
from cairn.envs.gui.site import Place, Site, Visit, doing
from cairn.envs.gui.ui_actions import Deed, click, fill, fill_in, goto, search, texts
from cairn.envs.office.calls import is_day
from cairn.envs.office.clock import day_of, days_later, weekday
from cairn.envs.office.task import Step
from cairn.envs.office.world import World

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PEOPLE = "addresses, with commas between them"
_DAY, _MOMENT = "like 2031-05-04", "like 2031-05-04 09:30"


def name_of(event: Json) -> str:
    """Return the accessible name of an event's row."""
    return f"{event['title']}, {event['start'].replace('T', ' ')}"


def _bar() -> Nav:
    links = (("New event", "/new"), ("Find a time", "/times"), ("Who is busy", "/busy"))
    return Nav(name="Calendar", links=[Link(text=text, to=to) for text, to in links])


def _week(visit: Visit) -> Page:
    asked, today = visit.value("day"), day_of(visit.world.now)
    day = asked if is_day(asked) else today
    monday = days_later(day, -weekday(day))
    sunday = days_later(monday, 6)
    found = visit.listed("calendar", "list_events", first=monday, last=sunday)
    weeks = Nav(
        name="Weeks",
        text=f"{monday} to {sunday}; today is {WEEKDAYS[weekday(today)]}, {today}",
        links=(
            Link(text="Previous week", to=address("/", day=days_later(monday, -7))),
            Link(text="This week", to="/"),
            Link(text="Next week", to=address("/", day=days_later(monday, 7))),
        ),
    )
    go = Form(
        to="/", is_get=True, submits=(("", "Go"),), fields=(Field(label="Week of the day", name="day", hint=_DAY),)
    )
    look = Form(
        to="/search", is_get=True, submits=(("", "Search"),),
        fields=(Field(label="Search events", name="q", kind="search"),),
    )  # fmt: skip
    is_wrong = bool(asked) and not is_day(asked)
    error = [Prose(text=f"{asked!r} is not a day like 2031-05-04.", is_alert=True)] if is_wrong else []
    table = _table(visit, found, "Events of the week")
    return Page(
        title="Calendar",
        parts=(_bar(), weeks, go, look, *error, table, pager("/", found["total"], visit.page(), day=day)),
    )


def _table(visit: Visit, found: Json, caption: str) -> Table:
    me, names = visit.world.address, distinct([name_of(event) for event in found["items"]])
    rows = [
        Row(
            cells=(
                f"{WEEKDAYS[weekday(day_of(event['start']))][:3]} {day_of(event['start'])}",
                f"{event['start'][11:]}-{event['end'][11:]}",
                Link(text=event["title"], to=f"/event/{event['id']}", name=name),
                event["location"],
                "you" if event["organizer"] == me else event["organizer"],
                _state(event, me),
            )
        )
        for event, name in zip(found["items"], names, strict=True)
    ]
    return Table(caption=caption, columns=("Day", "Time", "Title", "Place", "Organizer", "State"), rows=rows)


def _state(event: Json, me: str) -> str:
    if event["cancelled"]:
        return "cancelled"
    answers = {each["address"]: each["response"] for each in event["attendees"]}
    answer = str(answers.get(me, ""))
    return "not answered" if answer == "none" else answer


def _search(visit: Visit) -> Page:
    words = visit.value("q")
    found = visit.listed("calendar", "search", query=words)
    look = Form(
        to="/search", is_get=True, submits=(("", "Search"),),
        fields=(Field(label="Search events", name="q", kind="search", value=words),),
    )  # fmt: skip
    pages = pager("/search", found["total"], visit.page(), q=words)
    return Page(title="Search events", parts=(_bar(), look, _table(visit, found, "Events found"), pages))


def _event(visit: Visit) -> Page:
    event = visit.call("calendar", "get", event_id=visit.path["id"])
    at, is_own = f"/event/{event['id']}", event["organizer"] == visit.world.address
    attendees = [f"{each['address']} ({each['response']})" for each in event["attendees"]]
    ways: list[Nav | Bar] = []
    if not event["cancelled"] and is_own:
        links = (("Move", "move"), ("Edit", "edit"), ("Invite people", "invite"))
        ways = [
            Nav(name="This event", links=[Link(text=text, to=f"{at}/{to}") for text, to in links]),
            Bar(buttons=(Button(text="Cancel event", to=f"{at}/cancel", question=f"Cancel {event['title']}?"),)),
        ]
    elif not event["cancelled"]:
        answers = (("Accept", "accepted"), ("Decline", "declined"), ("Maybe", "tentative"))
        ways = [Bar(buttons=[Button(text=t, to=f"{at}/respond", values={"response": r}) for t, r in answers])]
    facts = FactList(
        pairs=(
            ("Start", event["start"].replace("T", " ")),
            ("End", event["end"].replace("T", " ")),
            ("Place", event["location"]),
            ("Organizer", event["organizer"]),
            ("Attendees", ", ".join(attendees)),
            ("State", "cancelled" if event["cancelled"] else "takes place"),
        )
    )
    return Page(title=event["title"], parts=(_bar(), *ways, facts, Prose(heading="Notes", text=event["notes"])))


def _new(visit: Visit) -> Page:
    fields = (
        Field(label="Title", name="title", value=visit.value("title")),
        Field(label="Start", name="start", value=visit.value("start").replace("T", " "), hint=_MOMENT),
        Field(label="Minutes", name="minutes", value=visit.value("minutes", "60")),
        Field(label="Place", name="location", value=visit.value("location")),
        Field(label="Attendees", name="attendees", value=visit.value("attendees"), hint=_PEOPLE),
        Field(label="Notes", name="notes", kind="area", value=visit.value("notes")),
    )
    return Page(title="New event", parts=(Form(to="/new", submits=(("", "Create event"),), fields=fields),))


def _create(visit: Visit) -> str:
    return f"/event/{visit.perform('calendar', 'create', start=_moment(visit))['id']}"


def _moment(visit: Visit) -> str:
    return visit.value("start").strip().replace(" ", "T")


def _move(visit: Visit) -> Page:
    event = visit.call("calendar", "get", event_id=visit.path["id"])
    start = visit.value("start", event["start"]).replace("T", " ")
    fields = (Field(label="New start", name="start", value=start, hint=_MOMENT),)
    form = Form(to=f"/event/{event['id']}/move", submits=(("", "Move event"),), fields=fields)
    return Page(title=f"Move: {event['title']}", parts=(form,))


def _moved(visit: Visit) -> str:
    visit.perform("calendar", "move", event_id=visit.path["id"], start=_moment(visit))
    return f"/event/{visit.path['id']}"


def _edit(visit: Visit) -> Page:
    event = visit.call("calendar", "get", event_id=visit.path["id"])
    fields = (
        Field(label="Title", name="title", value=visit.value("title", event["title"])),
        Field(label="Place", name="location", value=visit.value("location", event["location"])),
        Field(label="Notes", name="notes", kind="area", value=visit.value("notes", event["notes"])),
    )
    return Page(title=f"Edit: {event['title']}", parts=(Form(to=f"/event/{event['id']}/edit", fields=fields),))


def _invite(visit: Visit) -> Page:
    event = visit.call("calendar", "get", event_id=visit.path["id"])
    fields = (Field(label="Addresses", name="attendees", value=visit.value("attendees"), hint=_PEOPLE),)
    form = Form(to=f"/event/{event['id']}/invite", submits=(("", "Invite"),), fields=fields)
    return Page(title=f"Invite to: {event['title']}", parts=(form,))


def _times(visit: Visit) -> Page:
    day, people, minutes = visit.value("day"), visit.value("attendees"), visit.value("minutes", "60")
    form = Form(
        to="/times",
        is_get=True,
        submits=(("", "Find times"),),
        fields=(
            Field(label="Day", name="day", value=day, hint=_DAY),
            Field(label="Minutes", name="minutes", value=minutes),
            Field(label="With", name="attendees", value=people, hint=_PEOPLE),
        ),
    )
    if not day:
        return Page(title="Find a time", parts=(_bar(), form))
    addresses = [each.strip() for each in people.split(",") if each.strip()]
    number: object = int(minutes) if minutes.isdecimal() and len(minutes) < 6 else minutes
    found = visit.everything("calendar", "free_slots", day=day, minutes=number, attendees=addresses)
    links = [
        Link(text=start.replace("T", " "), to=address("/new", start=start, minutes=minutes, attendees=people))
        for start in found
    ]
    return Page(title="Find a time", parts=(_bar(), form, Nav(name="Free", text=f"{len(found)} starts", links=links)))


def _busy(visit: Visit) -> Page:
    who, first, last = visit.value("address"), visit.value("first"), visit.value("last")
    form = Form(
        to="/busy",
        is_get=True,
        submits=(("", "Show"),),
        fields=(
            Field(label="Address", name="address", value=who),
            Field(label="First day", name="first", value=first, hint=_DAY),
            Field(label="Last day", name="last", value=last, hint=_DAY),
        ),
    )
    if not who:
        return Page(title="Who is busy", parts=(_bar(), form))
    found = visit.everything("calendar", "busy", address=who, first=first, last=last)
    rows = [Row(cells=(slot["start"].replace("T", " "), slot["end"].replace("T", " "))) for slot in found]
    return Page(title="Who is busy", parts=(_bar(), form, Table(caption=who, columns=("From", "To"), rows=rows)))


def _to_event(world: World, event_id: object) -> Iterator[Deed]:
    title = world.calendar.events[str(event_id)].title
    yield goto("http://calendar/")
    yield from search("Search events", title)
    items = everything(world, "calendar", "search", query=title)
    name = yield from turn_to(items, lambda item: item["id"] == event_id, name_of)
    yield click("link", name)


def _how_create(world: World, step: Step) -> Iterator[Deed]:
    given = step.arguments
    yield goto("http://calendar/")
    yield click("link", "New event")
    yield from fill_in(
        {
            "Title": str(given["title"]),
            "Start": str(given["start"]).replace("T", " "),
            "Minutes": str(given["minutes"]),
            "Place": str(given.get("location", "")),
            "Attendees": ", ".join(texts(given.get("attendees"))),
        }
    )
    if given.get("notes"):
        yield fill("Notes", str(given["notes"]))
    yield click("button", "Create event")


def _how_move(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_event(world, step.arguments["event_id"])
    yield click("link", "Move")
    yield fill("New start", str(step.arguments["start"]).replace("T", " "))
    yield click("button", "Move event")


def _how_update(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_event(world, step.arguments["event_id"])
    yield click("link", "Edit")
    for argument, label in (("title", "Title"), ("location", "Place"), ("notes", "Notes")):
        if argument in step.arguments:
            yield fill(label, str(step.arguments[argument]))
    yield click("button", "Save")


def _how_invite(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_event(world, step.arguments["event_id"])
    yield click("link", "Invite people")
    yield fill("Addresses", ", ".join(texts(step.arguments["attendees"])))
    yield click("button", "Invite")


def _how_cancel(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_event(world, step.arguments["event_id"])
    yield click("button", "Cancel event")
    yield click("button", "Yes")


def _how_respond(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_event(world, step.arguments["event_id"])
    texts_of = {"accepted": "Accept", "declined": "Decline", "tentative": "Maybe"}
    yield click("button", texts_of[str(step.arguments["response"])])


def _how_get(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_event(world, step.arguments["event_id"])


def _how_look(world: World, step: Step) -> Iterator[Deed]:
    yield goto("http://calendar/")
    yield from search("Search events", str(step.arguments["query"]))


_AT = "/event/{id}"
APP = Site(
    name="calendar",
    title="Calendar",
    places=(
        Place(path="/", show=_week),
        Place(path="/search", show=_search),
        Place(path="/times", show=_times),
        Place(path="/busy", show=_busy),
        Place(path="/new", show=_new, do=_create, message="The event was created."),
        Place(path=_AT, show=_event),
        Place(path=f"{_AT}/move", show=_move, do=_moved, message="The event was moved."),
        Place(path=f"{_AT}/edit", show=_edit, do=doing("calendar", "update", _AT, event_id="id"), message="Saved."),
        Place(
            path=f"{_AT}/invite", show=_invite, do=doing("calendar", "invite", _AT, event_id="id"), message="Invited."
        ),
        Place(
            path=f"{_AT}/cancel", show=_event, do=doing("calendar", "cancel", _AT, event_id="id"), message="Cancelled."
        ),
        Place(
            path=f"{_AT}/respond", show=_event, do=doing("calendar", "respond", _AT, event_id="id"), message="Answered."
        ),
    ),
    how={
        "search": _how_look,
        "get": _how_get,
        "create": _how_create,
        "move": _how_move,
        "update": _how_update,
        "invite": _how_invite,
        "cancel": _how_cancel,
        "respond": _how_respond,
    },
)
