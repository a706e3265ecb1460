"""Rows of tables as tasks, by task id.

Tables are JSONL, JSON and Parquet files, lists of dictionaries and `datasets.Dataset`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from cairn.core.errors import ConfigError, MissingExtraError
from cairn.envs.base import EnvConfig, TextEnv

Row = Mapping[str, Any]  # Any: JSON
Table = str | Path | Iterable[Row]
_TEST_SHARE = 0.2
_WHOLE = 1 << 32


class RowsConfig(EnvConfig):
    """Settings of environments over tables."""

    split: str = Field(
        "all",
        description='Rows: all, or those with this value in the column "split". Without such a column: "test" for the '
        'fifth that a hash of the ids selects, or "train" for the others.',
    )


class RowsEnv(TextEnv):
    """An environment whose tasks are the rows of a table."""

    Config = RowsConfig
    rows: ClassVar[Mapping[str, Row]]  # by task id

    def setup(self) -> None:
        """Select the rows of the split."""
        wanted = self.config.split  # type: ignore[attr-defined]  # a RowsConfig
        self._ids = list(self.rows) if wanted == "all" else _rows_in(self.rows, wanted, self.meta.name)
        self._known = frozenset(self._ids)

    def tasks(self) -> Sequence[str]:
        """Return the ids of the rows, in the table's order."""
        return self._ids

    def has_task(self, task_id: str) -> bool:
        """Return whether the split has this row."""
        return task_id in self._known


def read_rows(table: Table, needed: Sequence[str] = ()) -> list[Row]:
    """Return the rows of a table.

    Raises:
        ConfigError: the table cannot be read or has no rows, or a row lacks a required column; the message has its
            number.
    """
    if isinstance(table, (str, Path)):
        rows = _read_file(Path(table).expanduser())
    else:
        rows = list(table)
    if wrong := [number for number, row in enumerate(rows) if not isinstance(row, Mapping)]:
        raise ConfigError(f"Row {wrong[0]} of the table is not an object with columns: {rows[wrong[0]]!r:.100}")
    if not rows:
        raise ConfigError("The table has no rows")
    for number, row in enumerate(rows):
        for column in needed:
            if column not in row:
                raise ConfigError(f"Row {number} of the table has no column {column!r}; it has {sorted(map(str, row))}")
    return rows


def rows_by_id(rows: Sequence[Row], column: str | None) -> dict[str, Row]:
    """Return the rows by task id.

    The id is a column, else the column "id" if its values are unique, else a hash of the row.

    Raises:
        ConfigError: a row lacks the column, or an id occurs twice.
    """
    named = [str(row["id"]) if column is None and "id" in row else None for row in rows]
    if column is not None:
        if missing := [number for number, row in enumerate(rows) if column not in row]:
            raise ConfigError(f"Row {missing[0]} of the table has no column {column!r}")
        ids = [str(row[column]) for row in rows]
    elif None not in named and len(set(named)) == len(rows):
        ids = [str(each) for each in named]
    else:
        ids = [sha256(json.dumps(dict(row), sort_keys=True, default=str).encode()).hexdigest()[:16] for row in rows]
    found: dict[str, int] = {}
    for number, each in enumerate(ids):
        if each in found:
            raise ConfigError(f"Rows {found[each]} and {number} of the table have the same id {each!r}")
        found[each] = number
    return {each: rows[number] for each, number in found.items()}


def _read_file(file: Path) -> list[Any]:  # Any: checked by the caller
    if file.suffix not in (".jsonl", ".json", ".parquet"):
        raise ConfigError(f"The table {str(file)!r} must be a .jsonl, .json or .parquet file")
    try:
        if file.suffix == ".parquet":
            return _read_parquet(file)
        text = file.read_text(encoding="utf-8-sig")
        if file.suffix == ".jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        found = json.loads(text)
        return found if isinstance(found, list) else [found]
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"The table {str(file)!r} cannot be read: {error!s:.200}") from error


def _read_parquet(file: Path) -> list[Any]:  # Any: checked by the caller
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("A table in Parquet", "export") from None
    return list(parquet.read_table(file).to_pylist())


def _rows_in(rows: Mapping[str, Row], wanted: str, name: str) -> list[str]:
    """Return the ids of a split's rows: by their column "split" if the table has one, else by a hash of the id.

    Raises:
        ConfigError: the split has no rows.
    """
    if any("split" in row for row in rows.values()):
        splits = {task_id: str(row["split"]) for task_id, row in rows.items() if "split" in row}
    else:
        splits = {task_id: "test" if _is_test(task_id) else "train" for task_id in rows}
    found = [task_id for task_id, split in splits.items() if split == wanted]
    if not found:
        known = ", ".join(sorted({"all", *splits.values()}))
        raise ConfigError(f"{name} has no rows in the split {wanted!r}; its splits are {known}")
    return found


def _is_test(task_id: str) -> bool:
    return int.from_bytes(sha256(task_id.encode("utf-8", "surrogatepass")).digest()[:4]) < _TEST_SHARE * _WHOLE
