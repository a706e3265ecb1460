"""Sheets: tables with named columns of texts, numbers or days; sorted and summed on display.

Every cell is stored as text and checked against its column when it is written. An empty cell is always allowed. Not
supported: formulas, formats, renaming or deleting columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from cairn.envs.office.app import App, find, require
from cairn.envs.office.calls import Limit, Line, Offset, Texts, Words, call, is_day, page, shown

KINDS = ("text", "number", "day")
MAX_COLUMNS, MAX_ROWS = 12, 500
_NUMBER = re.compile(r"-?\d{1,9}(\.\d{1,2})?", re.ASCII)
_SAYS = {"number": "a number like 12 or 12.50", "day": "a date like '2031-05-04'"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Sheet:
    """A table."""

    name: str
    columns: tuple[tuple[str, str], ...]  # (name, one of `KINDS`), from left to right

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [name for name, _ in self.columns]


@dataclass(frozen=True, kw_only=True, slots=True)
class SheetRow:
    """A row."""

    id: str
    sheet: str  # name
    position: int  # sort key of rows, ascending; deleted rows leave gaps
    cells: tuple[tuple[str, str], ...]  # (column, text), one for each column, from left to right


class Sheets(App):
    """Tables with rows and columns."""

    name = "sheets"
    tables: ClassVar[tuple[str, ...]] = ("sheets", "rows")
    derived: ClassVar = {"rows": frozenset({"id", "position"})}
    sets = frozenset({("rows", "cells")})
    sheets: dict[str, Sheet]
    rows: dict[str, SheetRow]

    @call
    def list_sheets(self, *, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List the sheets by name; a column's kind is text, number or day.

        Example: {"items": [{"name": "Budget", "columns": ["Item", "Cost"], "kinds": ["text", "number"], "rows": 14}],
        "total": 1, "next_offset": null}
        """
        return page((self._sheet_json(self.sheets[name]) for name in sorted(self.sheets)), limit, offset)

    @call
    def list_rows(
        self,
        *,
        sheet: Line,
        query: Words = "",
        column: Line | None = None,
        value: Words = "",
        order: Line | None = None,
        descending: bool = False,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> dict[str, object]:
        """List a sheet's rows, in the sheet's order or sorted by the column `order`.

        Numbers are sorted by value, empty cells first. Every word of the query occurs in some cell, case ignored; with
        a `column`, its cell is exactly `value`. The sums are over all rows found, for the columns with numbers.

        Example: {"items": [{"id": "w-5c3vv", "cells": ["Paint", "12.50"]}], "total": 1, "next_offset": null,
        "sums": {"Cost": "12.50"}}
        """
        of, words = self._sheet(sheet), query.casefold().split()
        for name in (column, order):
            require(name is None or name in of.names, f"{of.name} has the columns {of.names}; got {shown(name)}")
        found = [
            row
            for row in self.rows.values()
            if row.sheet == of.name
            and (column is None or dict(row.cells)[column] == value)
            and all(any(word in text.casefold() for _, text in row.cells) for word in words)
        ]
        found.sort(key=lambda row: row.position)
        if order is not None:
            kind = dict(of.columns)[order]
            found.sort(key=lambda row: _sortable(dict(row.cells)[order], kind), reverse=descending)
        return {**page(map(_row_json, found), limit, offset), "sums": _sums(of, found)}

    @call
    def create_sheet(self, *, name: Line, columns: Texts, kinds: Texts) -> dict[str, object]:
        """Add a sheet without rows; `kinds` has text, number or day for each column.

        Example: {"name": "Budget"}
        """
        require(name not in self.sheets, f"there is a sheet {shown(name)} already")
        is_so = 1 <= len(columns) <= MAX_COLUMNS and len(set(columns)) == len(columns) and all(map(str.strip, columns))
        require(is_so, f"columns must be 1 to {MAX_COLUMNS} different names; got {shown(columns)}")
        is_so = len(kinds) == len(columns) and set(kinds) <= set(KINDS)
        require(is_so, f"kinds must be one of {', '.join(KINDS)} for each column; got {shown(kinds)}")
        self.sheets[name] = Sheet(name=name, columns=tuple(zip(columns, kinds, strict=True)))
        return {"name": name}

    @call
    def add_row(self, *, sheet: Line, cells: Texts) -> dict[str, object]:
        """Add a row at the end; `cells` has a text for each column, from left to right.

        Example: {"id": "w-5c3vv"}
        """
        of = self._sheet(sheet)
        require(len(self.rows) < MAX_ROWS, f"there can be at most {MAX_ROWS} rows")
        position = 1 + max((row.position for row in self.rows.values() if row.sheet == of.name), default=0)
        checked = _checked(of, cells)
        row = SheetRow(id=self.world.new_id("w"), sheet=of.name, position=position, cells=checked)
        self.rows[row.id] = row
        return {"id": row.id}

    @call
    def update_row(self, *, row_id: str, cells: Texts) -> dict[str, object]:
        """Replace a row's cells; `cells` has a text for each column.

        Example: {"id": "w-5c3vv"}
        """
        row = self._row(row_id)
        self.rows[row.id] = replace(row, cells=_checked(self.sheets[row.sheet], cells))
        return {"id": row.id}

    @call
    def delete_row(self, *, row_id: str) -> dict[str, object]:
        """Delete a row permanently.

        Example: {"id": "w-5c3vv", "deleted": true}
        """
        del self.rows[self._row(row_id).id]
        return {"id": row_id, "deleted": True}

    @call
    def add_column(self, *, sheet: Line, name: Line, kind: str) -> dict[str, object]:
        """Add a column at the right, empty in every row; its kind is text, number or day.

        Example: {"name": "Budget", "columns": ["Item", "Cost", "Paid on"]}
        """
        of = self._sheet(sheet)
        require(kind in KINDS, f"kind must be one of {', '.join(KINDS)}; got {shown(kind)}")
        require(name not in of.names, f"{of.name} has a column {shown(name)} already")
        require(len(of.columns) < MAX_COLUMNS, f"a sheet has at most {MAX_COLUMNS} columns")
        self.sheets[of.name] = replace(of, columns=(*of.columns, (name, kind)))
        for row in [row for row in self.rows.values() if row.sheet == of.name]:
            self.rows[row.id] = replace(row, cells=(*row.cells, (name, "")))
        return {"name": of.name, "columns": [*of.names, name]}

    def _sheet(self, name: str) -> Sheet:
        return find(self.sheets, name, "sheet", "sheets.list_sheets lists them")

    def _row(self, row_id: str) -> SheetRow:
        return find(self.rows, row_id, "row", "sheets.list_rows lists them")

    def _sheet_json(self, sheet: Sheet) -> dict[str, object]:
        return {
            "name": sheet.name,
            "columns": sheet.names,
            "kinds": [kind for _, kind in sheet.columns],
            "rows": sum(row.sheet == sheet.name for row in self.rows.values()),
        }


def cents(text: str) -> int:
    """Return a cell's number in hundredths; an empty one is 0."""
    whole, _, part = text.lstrip("-").partition(".")
    number = int(whole or "0") * 100 + int(part.ljust(2, "0"))
    return -number if text.startswith("-") else number


def _checked(sheet: Sheet, cells: list[str]) -> tuple[tuple[str, str], ...]:
    require(len(cells) == len(sheet.columns), f"cells must be {len(sheet.columns)}: {sheet.names}; got {len(cells)}")
    for (name, kind), text in zip(sheet.columns, cells, strict=True):
        is_right = kind == "text" or not text or (is_day(text) if kind == "day" else _NUMBER.fullmatch(text))
        require(is_right, f"{name} must be {_SAYS.get(kind)}, or empty; got {shown(text)}")
    return tuple(zip(sheet.names, cells, strict=True))


def _sortable(text: str, kind: str) -> tuple[int, str]:
    """Return a cell's sort key: numbers by value, other cells as text, case ignored."""
    if kind == "number":
        return (cents(text) if text else -(10**12)), ""
    return 0, text.casefold()


def _sums(sheet: Sheet, rows: Iterable[SheetRow]) -> dict[str, str]:
    found = {name: 0 for name, kind in sheet.columns if kind == "number"}
    for row in rows:
        for name, text in row.cells:
            if name in found:
                found[name] += cents(text)
    return {name: _money(total) for name, total in found.items()}


def _money(total: int) -> str:
    return f"{'-' if total < 0 else ''}{abs(total) // 100}.{abs(total) % 100:02}"


def _row_json(row: SheetRow) -> dict[str, object]:
    return {"id": row.id, "cells": [text for _, text in row.cells]}
