"""Sheets application: tables with filter, sorting and sums; forms for rows and columns."""

from __future__ import annotations

from collections.abc import Iterator

from cairn.envs.gui.locate import Json, everything, turn_to
from cairn.envs.gui.parts import (
    Button,
    Field,
    Form,
    Link,
    Nav,
    Page,
    Part,
    Row,
    Table,
    address,
    choices,
    distinct,
    pager,
)
from cairn.envs.gui.site import Place, Site, Visit
from cairn.envs.gui.ui_actions import Deed, click, fill, goto, search, select, texts
from cairn.envs.office.calls import OfficeError
from cairn.envs.office.sheets import KINDS
from cairn.envs.office.task import Step
from cairn.envs.office.world import World

NUM_NEW = 6  # number of columns in the form of a new sheet


def name_of(row: Json) -> str:
    """Return the accessible name of a row: its first two cells."""
    return ", ".join(cell or "(empty)" for cell in row["cells"][:2])


def _sheets(visit: Visit) -> Page:
    rows = [
        Row(
            cells=(
                Link(text=each["name"], to=address("/sheet", name=each["name"]), name=f"Sheet {each['name']}"),
                str(each["rows"]),
                ", ".join(each["columns"]),
            )
        )
        for each in visit.everything("sheets", "list_sheets")
    ]
    table = Table(caption="Sheets", columns=("Name", "Rows", "Columns"), rows=rows)
    return Page(title="Sheets", parts=(Nav(name="Sheets", links=(Link(text="New sheet", to="/new"),)), table))


def _sheet(visit: Visit) -> Page:
    of = _find(visit, visit.query.get("name", ""))
    order, descending = visit.value("order"), visit.value("descending")
    words, column, value = visit.value("q"), visit.value("column"), visit.value("value")
    asked = {"name": of["name"], "q": words, "column": column, "value": value}
    found = visit.listed(
        "sheets", "list_rows", sheet=of["name"], query=words, column=column or None, value=value, order=order or None,
        descending=descending == "yes",
    )  # fmt: skip
    look = Form(
        to="/sheet",
        is_get=True,
        submits=(("", "Filter"),),
        hidden={"name": of["name"], "order": order, "descending": descending},
        fields=(
            Field(label="Search rows", name="q", kind="search", value=words),
            Field(label="Column", name="column", kind="select", value=column, options=choices(of["columns"], "any")),
            Field(label="Is exactly", name="value", value=value),
        ),
    )
    heads = [_head(each, order, descending, asked) for each in of["columns"]]
    names, at = distinct([name_of(row) for row in found["items"]]), address("/sheet", name=of["name"])
    rows = [
        Row(
            cells=(*row["cells"], Link(text="Edit", to=f"/row/{row['id']}", name=f"Edit: {name}")),
            buttons=(
                Button(text="Delete", name=f"Delete: {name}", to=f"/row/{row['id']}/delete", values={"back": at},
                       question=f"Delete the row {name}?"),
            ),
        )
        for row, name in zip(found["items"], names, strict=True)
    ]  # fmt: skip
    sums = "; ".join(f"Sum of {name}: {total}" for name, total in found["sums"].items())
    table = Table(caption=of["name"], columns=(*heads, ""), rows=rows, foot=f"{found['total']} rows. {sums}")
    pages = pager("/sheet", found["total"], visit.page(), **asked, order=order, descending=descending)
    return Page(title=f"Sheet {of['name']}", parts=(_ways(of["name"]), look, table, pages))


def _ways(name: str) -> Nav:
    links = (("Add row", "/add"), ("Add column", "/column"), ("Show all rows", "/sheet"))
    return Nav(name="This sheet", links=[Link(text=text, to=address(to, name=name)) for text, to in links])


def _head(column: str, order: str, descending: str, asked: dict[str, str]) -> Link:
    """Return a column's heading: a link that sorts by it, or reverses the order."""
    is_on = column == order
    mark = "" if not is_on else " (falling)" if descending else " (rising)"
    turned = "yes" if is_on and not descending else ""
    to = address("/sheet", **asked, order=column, descending=turned)
    return Link(text=f"{column}{mark}", to=to, name=f"Sort by {column}")


def _find(visit: Visit, name: str) -> Json:
    visit.call("sheets", "list_rows", sheet=name)  # raises an error if the sheet does not exist
    return next(each for each in visit.everything("sheets", "list_sheets") if each["name"] == name)


def _cells(visit: Visit, of: Json, old: list[str]) -> list[Field]:
    hints = {"number": "a number like 12 or 12.50", "day": "like 2031-05-04", "text": ""}
    return [
        Field(label=column, name=f"cell{at}", value=visit.value(f"cell{at}", cell), hint=hints[kind])
        for at, (column, kind, cell) in enumerate(zip(of["columns"], of["kinds"], old, strict=True))
    ]


def _typed(visit: Visit, of: Json) -> list[str]:
    return [visit.value(f"cell{at}").strip() for at in range(len(of["columns"]))]


def _add(visit: Visit) -> Page:
    of = _find(visit, visit.query.get("name", ""))
    fields = _cells(visit, of, [""] * len(of["columns"]))
    form = Form(to=address("/add", name=of["name"]), submits=(("", "Add this row"),), fields=fields)
    return Page(title=f"Add a row to {of['name']}", parts=(_ways(of["name"]), form))


def _added(visit: Visit) -> str:
    of = _find(visit, visit.query.get("name", ""))
    visit.call("sheets", "add_row", sheet=of["name"], cells=_typed(visit, of))
    return address("/sheet", name=of["name"])


def _row_of(visit: Visit) -> tuple[Json, Json]:
    """Return the sheet and the row of an address."""
    for of in visit.everything("sheets", "list_sheets"):
        for row in visit.everything("sheets", "list_rows", sheet=of["name"]):
            if row["id"] == visit.path["id"]:
                return of, row
    raise OfficeError("there is no such row; it may have been deleted")


def _row(visit: Visit) -> Page:
    of, row = _row_of(visit)
    form = Form(to=f"/row/{row['id']}", submits=(("", "Save row"),), fields=_cells(visit, of, row["cells"]))
    parts: list[Part] = [_ways(of["name"]), form]
    return Page(title=f"{of['name']}: {name_of(row)}", parts=parts)


def _saved(visit: Visit) -> str:
    of, row = _row_of(visit)
    visit.call("sheets", "update_row", row_id=row["id"], cells=_typed(visit, of))
    return address("/sheet", name=of["name"])


def _deleted(visit: Visit) -> str:
    visit.call("sheets", "delete_row", row_id=visit.path["id"])
    return visit.value("back", "/")


def _column(visit: Visit) -> Page:
    name = visit.query.get("name", "")
    fields = (
        Field(label="Column name", name="title", value=visit.value("title")),
        Field(label="Kind", name="kind", kind="radio", value=visit.value("kind", "text"), options=choices(KINDS)),
    )
    form = Form(to=address("/column", name=name), submits=(("", "Add this column"),), fields=fields)
    return Page(title=f"Add a column to {name}", parts=(_ways(name), form))


def _column_added(visit: Visit) -> str:
    name = visit.query.get("name", "")
    visit.call("sheets", "add_column", sheet=name, name=visit.value("title"), kind=visit.value("kind"))
    return address("/sheet", name=name)


def _new(visit: Visit) -> Page:
    fields = [Field(label="Sheet name", name="name", value=visit.value("name"))]
    for at in range(1, NUM_NEW + 1):
        fields += [
            Field(label=f"Column {at}", name=f"column{at}", value=visit.value(f"column{at}")),
            Field(label=f"Kind of column {at}", name=f"kind{at}", kind="select", options=choices(KINDS),
                  value=visit.value(f"kind{at}", "text")),
        ]  # fmt: skip
    return Page(title="New sheet", parts=(Form(to="/new", submits=(("", "Create sheet"),), fields=fields),))


def _made(visit: Visit) -> str:
    used = [at for at in range(1, NUM_NEW + 1) if visit.value(f"column{at}").strip()]
    visit.call(
        "sheets", "create_sheet", name=visit.value("name"),
        columns=[visit.value(f"column{at}").strip() for at in used], kinds=[visit.value(f"kind{at}") for at in used],
    )  # fmt: skip
    return address("/sheet", name=visit.value("name"))


def _to_sheet(name: object) -> Iterator[Deed]:
    yield goto("http://sheets/")
    yield click("link", f"Sheet {name}")


def _to_row(world: World, row_id: object, verb: str, role: str) -> Iterator[Deed]:
    row = world.sheets.rows[str(row_id)]
    words = " ".join(text for _, text in row.cells[:2])
    yield from _to_sheet(row.sheet)
    yield from search("Search rows", words)
    items = everything(world, "sheets", "list_rows", sheet=row.sheet, query=words)
    name = yield from turn_to(items, lambda item: item["id"] == row_id, name_of)
    yield click(role, f"{verb}: {name}")


def _how_add(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_sheet(step.arguments["sheet"])
    yield click("link", "Add row")
    names = world.sheets.sheets[str(step.arguments["sheet"])].names
    for column, cell in zip(names, texts(step.arguments["cells"]), strict=True):
        if cell:
            yield fill(column, cell)
    yield click("button", "Add this row")


def _how_update(world: World, step: Step) -> Iterator[Deed]:
    row = world.sheets.rows[str(step.arguments["row_id"])]
    yield from _to_row(world, row.id, "Edit", "link")
    for (column, old), cell in zip(row.cells, texts(step.arguments["cells"]), strict=True):
        if cell != old:
            yield fill(column, cell)
    yield click("button", "Save row")


def _how_delete(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_row(world, step.arguments["row_id"], "Delete", "button")
    yield click("button", "Yes")


def _how_column(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_sheet(step.arguments["sheet"])
    yield click("link", "Add column")
    yield fill("Column name", str(step.arguments["name"]))
    yield Deed(verb="check", role="radio", name=str(step.arguments["kind"]))
    yield click("button", "Add this column")


def _how_new(world: World, step: Step) -> Iterator[Deed]:
    yield goto("http://sheets/")
    yield click("link", "New sheet")
    yield fill("Sheet name", str(step.arguments["name"]))
    kinds = texts(step.arguments["kinds"])
    for at, column in enumerate(texts(step.arguments["columns"]), 1):
        yield fill(f"Column {at}", column)
        yield select(f"Kind of column {at}", kinds[at - 1])
    yield click("button", "Create sheet")


def _how_look(world: World, step: Step) -> Iterator[Deed]:
    given = step.arguments
    yield from _to_sheet(given["sheet"])
    yield select("Column", str(given["column"]))
    yield fill("Is exactly", str(given["value"]))
    yield click("button", "Filter")
    if "order" in given:
        for _ in range(2 if given.get("descending") else 1):
            yield click("link", f"Sort by {given['order']}")


APP = Site(
    name="sheets",
    title="Sheets",
    places=(
        Place(path="/", show=_sheets),
        Place(path="/sheet", show=_sheet),
        Place(path="/new", show=_new, do=_made, message="The sheet was created."),
        Place(path="/add", show=_add, do=_added, message="The row was added."),
        Place(path="/column", show=_column, do=_column_added, message="The column was added."),
        Place(path="/row/{id}", show=_row, do=_saved, message="The row was saved."),
        Place(path="/row/{id}/delete", show=_sheets, do=_deleted, message="The row was deleted."),
    ),
    how={
        "list_rows": _how_look,
        "add_row": _how_add,
        "update_row": _how_update,
        "delete_row": _how_delete,
        "add_column": _how_column,
        "create_sheet": _how_new,
    },
)
