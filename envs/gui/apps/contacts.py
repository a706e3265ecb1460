"""Contacts application: search, details, and groups of people."""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
    Row,
    Table,
    address,
    choices,
    distinct,
    pager,
)
from cairn.envs.gui.site import Place, Site, Visit
from cairn.envs.gui.ui_actions import Deed, click, fill, fill_in, goto, search, select, texts
from cairn.envs.office.task import Step
from cairn.envs.office.world import World

_LABELS = (("name", "Name"), ("emails", "Addresses"), ("phone", "Phone"), ("birthday", "Birthday"),
           ("company", "Company"))  # fmt: skip
_HINTS = {"emails": "the main one first, with commas between them", "birthday": "like 1990-05-04"}


def name_of(contact: Json) -> str:
    """Return the accessible name of a contact's row."""
    return f"{contact['name']}, {contact['emails'][0]}"


def _bar() -> Nav:
    links = (("All contacts", "/"), ("Groups", "/groups"), ("New contact", "/new"))
    return Nav(name="Contacts", links=[Link(text=text, to=to) for text, to in links])


def _rows(items: list[Json]) -> list[Row]:
    names = distinct([name_of(each) for each in items])
    return [
        Row(
            cells=(
                Link(text=each["name"], to=f"/contact/{each['id']}", name=name), ", ".join(each["emails"]),
                each["phone"], each["birthday"], each["company"],
            )
        )
        for each, name in zip(items, names, strict=True)
    ]  # fmt: skip


def _list(visit: Visit) -> Page:
    words, company, month = visit.value("q"), visit.value("company"), visit.value("month")
    found = visit.listed(
        "contacts", "search", query=words, company=company or None,
        birthday_month=int(month) if month.isdecimal() and len(month) < 3 else None,
    )  # fmt: skip
    companies = sorted({each["company"] for each in visit.everything("contacts", "search")} - {""})
    months = [("", "any month"), *((str(at), f"{at:02}") for at in range(1, 13))]
    look = Form(
        to="/",
        is_get=True,
        submits=(("", "Search"),),
        fields=(
            Field(label="Search contacts", name="q", kind="search", value=words),
            Field(label="Company", name="company", kind="select", value=company,
                  options=choices(companies, "any company")),
            Field(label="Month of birthday", name="month", kind="select", value=month, options=months),
        ),
    )  # fmt: skip
    columns = ("Name", "Addresses", "Phone", "Birthday", "Company")
    table = Table(caption=f"{found['total']} contacts", columns=columns, rows=_rows(found["items"]))
    pages = pager("/", found["total"], visit.page(), q=words, company=company, month=month)
    return Page(title="Contacts", parts=(_bar(), look, table, pages))


def _contact(visit: Visit) -> Page:
    found = visit.call("contacts", "get", contact_id=visit.path["id"])
    at = f"/contact/{found['id']}"
    every = [each["name"] for each in visit.everything("contacts", "list_groups")]
    groups = [
        name for name in every
        if any(each["id"] == found["id"] for each in visit.everything("contacts", "members", group=name))
    ]  # fmt: skip
    facts = FactList(
        pairs=(
            ("Addresses", ", ".join(found["emails"])),
            ("Phone", found["phone"]),
            ("Birthday", found["birthday"]),
            ("Company", found["company"]),
            ("Groups", ", ".join(groups)),
        )
    )
    add = Form(
        to=f"{at}/join", submits=(("", "Add to group"),),
        fields=(Field(label="Group", name="group", kind="select", options=choices(every)),),
    )  # fmt: skip
    leave = [Button(text=f"Remove from {name}", to=f"{at}/leave", values={"group": name}) for name in groups]
    delete = Button(text="Delete contact", to=f"{at}/delete", question=f"Delete {found['name']} for good?")
    ways = Nav(name="This contact", links=(Link(text="Edit", to=f"{at}/edit"), Link(text="Merge", to=f"{at}/merge")))
    return Page(title=found["name"], parts=(_bar(), ways, facts, add, Bar(buttons=(*leave, delete))))


def _fields(visit: Visit, old: Json) -> list[Field]:
    values = {**old, "emails": ", ".join(old["emails"])}
    return [
        Field(label=label, name=name, value=visit.value(name, values[name]), hint=_HINTS.get(name, ""))
        for name, label in _LABELS
    ]


def _new(visit: Visit) -> Page:
    old = {"name": "", "emails": [], "phone": "", "birthday": "", "company": ""}
    form = Form(to="/new", submits=(("", "Create contact"),), fields=_fields(visit, old))
    return Page(title="New contact", parts=(_bar(), form))


def _created(visit: Visit) -> str:
    made = visit.perform("contacts", "create", birthday=visit.value("birthday") or None)
    return f"/contact/{made['id']}"


def _edit(visit: Visit) -> Page:
    found = visit.call("contacts", "get", contact_id=visit.path["id"])
    form = Form(to=f"/contact/{found['id']}/edit", fields=_fields(visit, found))
    return Page(title=f"Edit: {found['name']}", parts=(_bar(), form))


def _edited(visit: Visit) -> str:
    old, new = visit.call("contacts", "get", contact_id=visit.path["id"])["birthday"], visit.value("birthday")
    # For the call, None keeps the birthday; it rejects dates before 2000, which many contacts have.
    visit.perform("contacts", "update", contact_id=visit.path["id"], birthday=None if new == old else new)
    return f"/contact/{visit.path['id']}"


def _merge(visit: Visit) -> Page:
    found = visit.call("contacts", "get", contact_id=visit.path["id"])
    others = [each for each in visit.everything("contacts", "search") if each["id"] != found["id"]]
    names = distinct([name_of(each) for each in others])
    options = [(each["id"], name) for each, name in zip(others, names, strict=True)]
    form = Form(
        to=f"/contact/{found['id']}/merge", submits=(("", "Merge the two"),),
        fields=(Field(label="Other contact, which will be gone", name="other_id", kind="select", options=options),),
    )  # fmt: skip
    return Page(title=f"Merge into {name_of(found)}", parts=(_bar(), form))


def _merged(visit: Visit) -> str:
    visit.perform("contacts", "merge", keep_id=visit.path["id"])
    return f"/contact/{visit.path['id']}"


def _member(call: str) -> Callable[[Visit], str]:
    """Return a handler that adds the address's contact to a group, or removes it."""

    def do(visit: Visit) -> str:
        visit.perform("contacts", call, contact_id=visit.path["id"])
        return f"/contact/{visit.path['id']}"

    return do


def _deleted(visit: Visit) -> str:
    visit.call("contacts", "delete", contact_id=visit.path["id"])
    return "/"


def _groups(visit: Visit) -> Page:
    rows = [
        Row(
            cells=(
                Link(text=each["name"], to=address("/group", name=each["name"]), name=f"Group {each['name']}"),
                str(each["size"]),
            )
        )
        for each in visit.everything("contacts", "list_groups")
    ]
    form = Form(
        to="/groups", submits=(("", "Create group"),),
        fields=(Field(label="New group", name="group", value=visit.value("group")),),
    )  # fmt: skip
    return Page(title="Groups", parts=(_bar(), Table(caption="Groups", columns=("Name", "Members"), rows=rows), form))


def _group_made(visit: Visit) -> str:
    visit.perform("contacts", "create_group")
    return "/groups"


def _group(visit: Visit) -> Page:
    name = visit.query.get("name", "")
    found = visit.listed("contacts", "members", group=name)
    columns = ("Name", "Addresses", "Phone", "Birthday", "Company")
    table = Table(caption=f"{found['total']} members", columns=columns, rows=_rows(found["items"]))
    return Page(title=f"Group {name}", parts=(_bar(), table, pager("/group", found["total"], visit.page(), name=name)))


def _to_contact(world: World, contact_id: object) -> Iterator[Deed]:
    who = world.contacts.contacts[str(contact_id)]
    words = f"{who.name} {who.address}"
    yield goto("http://contacts/")
    yield from search("Search contacts", words)
    items = everything(world, "contacts", "search", query=words)
    name = yield from turn_to(items, lambda item: item["id"] == contact_id, name_of)
    yield click("link", name)


def _how_fields(step: Step) -> Iterator[Deed]:
    for name, label in _LABELS:
        if name in step.arguments:
            value = step.arguments[name]
            yield fill(label, ", ".join(texts(value)) if name == "emails" else str(value or ""))


def _how_create(world: World, step: Step) -> Iterator[Deed]:
    yield goto("http://contacts/")
    yield click("link", "New contact")
    yield from _how_fields(step)
    yield click("button", "Create contact")


def _how_update(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_contact(world, step.arguments["contact_id"])
    yield click("link", "Edit")
    yield from _how_fields(step)
    yield click("button", "Save")


def _how_merge(world: World, step: Step) -> Iterator[Deed]:
    keep, other = step.arguments["keep_id"], step.arguments["other_id"]
    yield from _to_contact(world, keep)
    yield click("link", "Merge")
    others = [each for each in everything(world, "contacts", "search") if each["id"] != keep]
    names = dict(zip([each["id"] for each in others], distinct([name_of(each) for each in others]), strict=True))
    yield select("Other contact, which will be gone", names[other])
    yield click("button", "Merge the two")


def _how_delete(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_contact(world, step.arguments["contact_id"])
    yield click("button", "Delete contact")
    yield click("button", "Yes")


def _how_group(world: World, step: Step) -> Iterator[Deed]:
    yield goto("http://contacts/")
    yield click("link", "Groups")
    yield from fill_in({"New group": str(step.arguments["group"])})
    yield click("button", "Create group")


def _how_join(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_contact(world, step.arguments["contact_id"])
    yield select("Group", str(step.arguments["group"]))
    yield click("button", "Add to group")


def _how_leave(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_contact(world, step.arguments["contact_id"])
    yield click("button", f"Remove from {step.arguments['group']}")


def _how_get(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_contact(world, step.arguments["contact_id"])


_AT = "/contact/{id}"
APP = Site(
    name="contacts",
    title="Contacts",
    places=(
        Place(path="/", show=_list),
        Place(path="/new", show=_new, do=_created, message="The contact was created."),
        Place(path="/groups", show=_groups, do=_group_made, message="The group was created."),
        Place(path="/group", show=_group),
        Place(path=_AT, show=_contact),
        Place(path=f"{_AT}/edit", show=_edit, do=_edited, message="The contact was saved."),
        Place(path=f"{_AT}/merge", show=_merge, do=_merged, message="The contacts were merged."),
        Place(path=f"{_AT}/join", show=_contact, do=_member("add_to_group"), message="Added to the group."),
        Place(path=f"{_AT}/leave", show=_contact, do=_member("remove_from_group"), message="Removed from the group."),
        Place(path=f"{_AT}/delete", show=_contact, do=_deleted, message="The contact was deleted."),
    ),
    how={
        "get": _how_get,
        "create": _how_create,
        "update": _how_update,
        "merge": _how_merge,
        "delete": _how_delete,
        "create_group": _how_group,
        "add_to_group": _how_join,
        "remove_from_group": _how_leave,
    },
)
