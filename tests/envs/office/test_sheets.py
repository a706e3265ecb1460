"""Sheets: each call's result and refusals, in a tiny office."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.envs.office.changes import changes
from cairn.envs.office.sheets import cents
from cairn.envs.office.world import World
from tests.envs.office.desk import desk
from tests.envs.office.refusals import ids, refused


def call(world: World, name: str, /, **arguments: object) -> Any:
    return world.call("sheets", name, arguments)


def test_sheets_are_listed_with_columns_and_size() -> None:
    assert call(desk(), "list_sheets")["items"] == [
        {"name": "Costs", "columns": ["Item", "Cost", "Paid"], "kinds": ["text", "number", "day"], "rows": 4},
        {"name": "Empty", "columns": ["Name"], "kinds": ["text"], "rows": 0},
    ]


def test_rows_are_returned_in_order_with_sums_of_all_matches() -> None:
    world = desk()
    found = call(world, "list_rows", sheet="Costs", limit=1)
    assert found == {
        "items": [{"id": "w1", "cells": ["Paint", "12.50", "2031-05-01"]}], "total": 4, "next_offset": 1,
        "sums": {"Cost": "111.05"},  # 12.50 + 2 + 100.05 - 3.50
    }  # fmt: skip
    assert call(world, "list_rows", sheet="Empty") == {"items": [], "total": 0, "next_offset": None, "sums": {}}


def test_rows_are_found_by_words_and_by_a_cell() -> None:
    world = desk()
    assert ids(call(world, "list_rows", sheet="Costs", query="PAI")) == ["w1"]
    assert ids(call(world, "list_rows", sheet="Costs", query="paint 2031")) == ["w1"]  # in different cells
    assert ids(call(world, "list_rows", sheet="Costs", column="Paid", value="")) == ["w2", "w3", "w4"]
    assert call(world, "list_rows", sheet="Costs", column="Paid", value="")["sums"] == {"Cost": "98.55"}
    refused(world, "sheets", "list_rows", "has the columns", sheet="Costs", column="Price", value="1")
    refused(world, "sheets", "list_rows", "there is no sheet 'Cost'", sheet="Cost")


def test_numbers_are_ordered_by_value_and_texts_but_for_case() -> None:
    world = desk()
    assert ids(call(world, "list_rows", sheet="Costs", order="Cost")) == ["w4", "w2", "w1", "w3"]
    assert ids(call(world, "list_rows", sheet="Costs", order="Cost", descending=True)) == ["w3", "w1", "w2", "w4"]
    assert ids(call(world, "list_rows", sheet="Costs", order="Item")) == ["w2", "w1", "w4", "w3"]
    assert ids(call(world, "list_rows", sheet="Costs", order="Paid")) == ["w2", "w3", "w4", "w1"]


@pytest.mark.parametrize(("text", "expected"), [("", 0), ("2", 200), ("-3.5", -350), ("100.05", 10_005), ("-0.05", -5)])
def test_cents_of_cells(text: str, expected: int) -> None:
    assert cents(text) == expected


def test_cells_are_checked_against_their_columns() -> None:
    world = desk()
    call(world, "add_row", sheet="Costs", cells=["Glue", "", ""])
    refused(world, "sheets", "add_row", "Cost must be a number like 12", sheet="Costs", cells=["Glue", "ten", ""])
    refused(world, "sheets", "add_row", "Cost must be a number", sheet="Costs", cells=["Glue", "1.234", ""])
    refused(world, "sheets", "add_row", "Paid must be a date like", sheet="Costs", cells=["Glue", "1", "2031-02-30"])
    refused(world, "sheets", "add_row", "cells must be 3", sheet="Costs", cells=["Glue", "1"])
    refused(world, "sheets", "update_row", "Paid must be a date", row_id="w1", cells=["Glue", "1", "soon"])
    refused(world, "sheets", "update_row", "there is no row 'w9'", row_id="w9", cells=["Glue", "1", ""])


def test_a_new_row_is_the_last_and_a_deleted_one_is_gone() -> None:
    world = desk()
    key = call(world, "add_row", sheet="Costs", cells=["Glue", "1", ""])["id"]
    call(world, "delete_row", row_id="w2")
    assert ids(call(world, "list_rows", sheet="Costs")) == ["w1", "w3", "w4", key]


def test_a_changed_cell_is_one_change_of_one_cell() -> None:
    before, after = desk(), desk()
    call(after, "update_row", row_id="w1", cells=["Paint", "13", "2031-05-01"])
    found = changes(before, after)
    assert [(each.key, each.what, each.value) for each in found] == [
        ("w1", "cells +", ("Cost", "13")), ("w1", "cells -", ("Cost", "12.50")),
    ]  # fmt: skip


def test_a_new_column_is_empty_in_every_row() -> None:
    world = desk()
    assert call(world, "add_column", sheet="Costs", name="Shop", kind="text")["columns"][-1] == "Shop"
    assert call(world, "list_rows", sheet="Costs")["items"][0]["cells"] == ["Paint", "12.50", "2031-05-01", ""]
    refused(world, "sheets", "add_column", "already", sheet="Costs", name="Item", kind="text")
    refused(world, "sheets", "add_column", "kind must be one of", sheet="Costs", name="New", kind="money")


def test_a_new_sheet_has_named_columns_of_known_kinds() -> None:
    world = desk()
    call(world, "create_sheet", name="New", columns=["A", "B"], kinds=["text", "day"])
    assert world.sheets.sheets["New"].columns == (("A", "text"), ("B", "day"))
    good = {"name": "Other", "columns": ["A"], "kinds": ["text"]}
    refused(world, "sheets", "create_sheet", "already", **{**good, "name": "New"})
    refused(world, "sheets", "create_sheet", "different names", **{**good, "columns": ["A", "A"]})
    refused(world, "sheets", "create_sheet", "different names", **{**good, "columns": []})
    refused(world, "sheets", "create_sheet", "kinds must be", **{**good, "kinds": ["text", "day"]})
