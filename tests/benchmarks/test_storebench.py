"""The store's benchmark writes and reads the household's turns, in little room."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from cairn.benchmarks.store import storing
from cairn.core.store import RunStore, read


def test_the_same_turns_are_written_both_ways_and_take_less_room(tmp_path: Path) -> None:
    rows = {str(row["name"]): row for row in storing(tmp_path, 1)}
    assert all(isinstance(row["value"], float) and row["value"] > 0 for row in rows.values())
    assert rows["store: turns written, one core"]["bar"] == ">= 5000"
    size = rows["store: size"]["value"]
    assert isinstance(size, float)
    assert size > 1.5
    with RunStore.read(tmp_path / "ours0") as store:
        read.check(store)
        (ours,) = store.rows("SELECT count(*), count(DISTINCT anchor) FROM turns")
        assert store.rows("SELECT count(*) FROM bodies") == [(64,)]
    database = sqlite3.connect(tmp_path / "plain0")
    (plain,) = database.execute("SELECT count(*), count(DISTINCT anchor) FROM turns")
    database.close()
    assert ours == plain
    assert ours[0] == 64 * 20
