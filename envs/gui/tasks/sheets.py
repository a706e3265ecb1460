"""Tasks in the sheets: add, change and delete rows, make sheets, find sums and maxima."""

from __future__ import annotations

import random

from cairn.envs.gui.task import simple
from cairn.envs.gui.tasks._planting import lay_out, with_cell
from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import contacts, money
from cairn.envs.office.sheets import SheetRow, cents
from cairn.envs.office.task import Plan, step
from cairn.envs.office.world import World

_THINGS = ("Anvil", "Bellows", "Compass", "Dinghy", "Easel", "Flagpole", "Gong", "Hammock", "Inkwell", "Jukebox",
           "Kayak", "Lute", "Mortar", "Net", "Oar")  # fmt: skip
_STOCK = (("Thing", "text"), ("Shed", "text"), ("Count", "number"), ("Price", "number"))


def _stock(world: World, rng: random.Random) -> list[SheetRow]:
    """Add a sheet of items in two sheds."""
    rows = [
        (thing, rng.choice(("East", "West")), str(rng.randrange(1, 30)), money(rng.randrange(500, 90_000)))
        for thing in rng.sample(_THINGS, 13)
    ]
    return lay_out(world, "Stock", _STOCK, rows)


def _set(world: World, rng: random.Random) -> Plan:
    row, count = rng.choice(_stock(world, rng)), str(rng.randrange(40, 90))
    return Plan(
        instruction=f"In the sheet Stock, set the count of {dict(row.cells)['Thing']} to {count}.",
        steps=(step("sheets", "update_row", row_id=row.id, cells=with_cell(row, "Count", count)),),
    )


def _add(world: World, rng: random.Random) -> Plan:
    _stock(world, rng)
    count, price = str(rng.randrange(2, 9)), money(rng.randrange(500, 9_000))
    return Plan(
        instruction=f"Add a row to the sheet Stock: Quilt, in the shed East, count {count}, price {price}.",
        steps=(step("sheets", "add_row", sheet="Stock", cells=["Quilt", "East", count, price]),),
    )


def _delete(world: World, rng: random.Random) -> Plan:
    row = rng.choice(_stock(world, rng))
    return Plan(
        instruction=f"Delete the row of {dict(row.cells)['Thing']} from the sheet Stock.",
        steps=(step("sheets", "delete_row", row_id=row.id),),
    )


def _column(world: World, rng: random.Random) -> Plan:
    _stock(world, rng)
    name, kind = rng.choice((("Checked on", "day"), ("Weight", "number"), ("Remark", "text")))
    return Plan(
        instruction=f"Add a column {name!r} to the sheet Stock, of the kind {kind}.",
        steps=(step("sheets", "add_column", sheet="Stock", name=name, kind=kind),),
    )


def _sum(world: World, rng: random.Random) -> Plan:
    rows, shed = _stock(world, rng), rng.choice(("East", "West"))
    total = sum(cents(dict(row.cells)["Price"]) for row in rows if dict(row.cells)["Shed"] == shed)
    return Plan(
        instruction=f"What is the sum of the prices of all things in the shed {shed} in the sheet Stock? Send me the "
        "sum alone, like 12.50.",
        answer=money(total),
        looks=(step("sheets", "list_rows", sheet="Stock", column="Shed", value=shed),),
    )


def _dearest(world: World, rng: random.Random) -> Plan:
    rows, shed = _stock(world, rng), rng.choice(("East", "West"))
    found = [dict(row.cells) for row in rows if dict(row.cells)["Shed"] == shed] or [dict(row.cells) for row in rows]
    if found[0]["Shed"] != shed:
        shed = found[0]["Shed"]
    prices = [cents(cells["Price"]) for cells in found]
    assert len(set(prices)) == len(prices)
    look = step(
        "sheets", "list_rows", sheet="Stock", column="Shed", value=shed, order="Price", descending=True
    )  # fmt: skip
    return Plan(
        instruction=f"Which thing in the shed {shed} has the highest price in the sheet Stock? Send me its name alone.",
        answer=found[prices.index(max(prices))]["Thing"],
        looks=(look,),
    )


def _approve(world: World, rng: random.Random) -> Plan:
    (who,), steps = contacts(world, rng, 1), []
    columns = (("What", "text"), ("Who", "text"), ("Amount", "number"), ("State", "text"))
    others = [each.name for each in contacts(world, rng, 4, besides=(who,))]
    rows = []
    for at, thing in enumerate(rng.sample(_THINGS, 12)):
        name = who.name if at in (2, 5, 7) else rng.choice(others)
        rows.append((thing, name, money(rng.randrange(500, 9_000)), "paid" if at == 5 else "asked"))
    for at, row in enumerate(lay_out(world, "Refunds", columns, rows)):
        if at in (2, 7):
            steps.append(step("sheets", "update_row", row_id=row.id, cells=with_cell(row, "State", "approved")))
    return Plan(
        instruction=f"In the sheet Refunds, set the state of everything that {who.name} has asked for to 'approved'. "
        "Rows with the state 'paid' stay as they are.",
        steps=tuple(steps),
    )


def _new(world: World, rng: random.Random) -> Plan:
    name = rng.choice(("Visitors", "Bookings", "Returns"))
    steps = step(
        "sheets", "create_sheet", name=name, columns=["Name", "Day", "Places"], kinds=["text", "day", "number"]
    )  # fmt: skip
    return Plan(
        instruction=f"Make a sheet {name!r} with three columns: Name for text, Day for days and Places for numbers.",
        steps=(steps,),
    )


def _doubles(world: World, rng: random.Random) -> Plan:
    things = rng.sample(_THINGS, 11)
    twice = rng.sample(things, 2)
    rows = [(thing, "East", "1", "10.00") for thing in things] + [(thing, "", "", "") for thing in twice]
    rng.shuffle(rows)
    steps = [
        step("sheets", "delete_row", row_id=row.id)
        for row in lay_out(world, "Stock", _STOCK, rows)
        if dict(row.cells)["Count"] == ""
    ]
    return Plan(
        instruction="In the sheet Stock two things are listed twice, once with all cells filled in and once with "
        "nothing but the name. Delete the rows that have nothing but a name.",
        steps=tuple(steps),
    )


def _raise(world: World, rng: random.Random) -> Plan:
    shed, steps = rng.choice(("East", "West")), []
    for row in _stock(world, rng):
        cells = dict(row.cells)
        if cells["Shed"] == shed and int(cells["Count"]) < 12:
            steps.append(step("sheets", "update_row", row_id=row.id, cells=with_cell(row, "Count", "12")))
    if not steps:
        row = next(row for row in world.sheets.rows.values() if row.sheet == "Stock")
        cells_ = [dict(row.cells)["Thing"], shed, "3", dict(row.cells)["Price"]]
        world.call("sheets", "update_row", {"row_id": row.id, "cells": cells_})
        world.log.clear()
        steps = [step("sheets", "update_row", row_id=row.id, cells=[*cells_[:2], "12", cells_[3]])]
    return Plan(
        instruction=f"The shed {shed} was filled up. In the sheet Stock, set the count of every thing in it of which "
        "there were fewer than 12 to 12.",
        steps=tuple(steps),
    )


def _move_shed(world: World, rng: random.Random) -> Plan:
    rows = _stock(world, rng)
    moved = rng.sample(rows, 3)
    names = [dict(row.cells)["Thing"] for row in moved]
    steps = []
    for row in moved:
        other = "West" if dict(row.cells)["Shed"] == "East" else "East"
        steps.append(step("sheets", "update_row", row_id=row.id, cells=with_cell(row, "Shed", other)))
    return Plan(
        instruction=f"In the sheet Stock, {names[0]}, {names[1]} and {names[2]} have been carried to the other shed: "
        "from East to West, or from West to East. Write that down.",
        steps=tuple(steps),
    )


def _log(world: World, rng: random.Random) -> Plan:
    today = day_of(world.now)
    columns, numbers = ["Day", "Litres"], [str(rng.randrange(10, 99)) for _ in range(2)]
    days = [days_later(today, -2), days_later(today, -1)]
    adds = [step("sheets", "add_row", sheet="Rain", cells=list(pair)) for pair in zip(days, numbers, strict=True)]
    return Plan(
        instruction="Make a sheet 'Rain' with the columns Day (days) and Litres (numbers), and add a row for "
        f"{days[0]} with {numbers[0]} litres and one for {days[1]} with {numbers[1]}.",
        steps=(step("sheets", "create_sheet", name="Rain", columns=columns, kinds=["day", "number"]), *adds),
    )


TEMPLATES = (
    simple("sheets-set-cell", 1, "sheets", _set),
    simple("sheets-add-row", 1, "sheets", _add),
    simple("sheets-delete-row", 1, "sheets", _delete),
    simple("sheets-add-column", 1, "sheets", _column),
    simple("sheets-sum", 2, "sheets", _sum),
    simple("sheets-dearest", 2, "sheets", _dearest),
    simple("sheets-approve", 2, "sheets", _approve),
    simple("sheets-create", 2, "sheets", _new),
    simple("sheets-delete-doubles", 3, "sheets", _doubles),
    simple("sheets-fill-up", 3, "sheets", _raise),
    simple("sheets-other-shed", 3, "sheets", _move_shed),
    simple("sheets-create-and-fill", 3, "sheets", _log),
)
