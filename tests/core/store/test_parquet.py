"""A run as Parquet files and back: nothing is lost, other libraries read it, and other files are rejected."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pytest
from pyarrow import parquet

from cairn.core.errors import CairnError
from cairn.core.store import RunStore, read
from cairn.core.store import parquet as parquet_files
from cairn.core.store.digest import played
from cairn.core.store.parquet import export_run, import_run
from tests.core.store.test_store import EVERYTHING, SPOKEN, damage_an_index, episode

TABLES = ("meta", "updates", "metrics", "environments", "tasks", "episodes", "turns", "images", "advantages",
          "checkpoints", "events")  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    made = RunStore(tmp_path / "run.sqlite")
    made.set_meta({"config": {"env": {"id": "env"}}, "seed": 3})
    made.environment("env", 2, {"split": "train"})
    made.add(0, {"imitation/loss": 0.5})
    credit = {"gigpo": [0.5, -0.25, 1.0, 2.0], "grpo": [0.0, 0.0, 1.0, 1.0]}
    kinds = ["a", "b", "a"]
    made.add(1, {"loss": 0.1 + 0.2}, [EVERYTHING, SPOKEN, episode(None)], task_types=kinds, advantages=credit)
    made.add(1, {}, [episode(1.0)], phase="eval", task_types=["c"])
    made.add(2, {"loss": 1e-300}, [EVERYTHING], task_types=["a"], advantages={"gigpo": [1.0, 2.0]})
    made.checkpoint(2, "checkpoints/update-000002")
    made.event(1, "warning", "look out")
    return made


def test_a_run_is_exported_and_imported_unchanged(store: RunStore, tmp_path: Path) -> None:
    counts = export_run(store, tmp_path / "out")
    assert (counts["episodes"], counts["turns"], counts["metrics"], counts["events"]) == (5, 6, 3, 1)
    with import_run(tmp_path / "out", tmp_path / "again" / "run.sqlite") as again:
        assert_same(again, store)
        assert [row[3:4] + row[5:] for row in played(again)] == [row[3:4] + row[5:] for row in played(store)]


def assert_same(found: RunStore, wanted: RunStore) -> None:
    read.check(found)
    for table in TABLES:
        rows = [each.rows(f"SELECT * FROM {table} ORDER BY 1, 2") for each in (found, wanted)]
        assert without_surrogates(rows[0]) == without_surrogates(rows[1]), table
    assert found.rows("SELECT episode FROM bodies") == wanted.rows("SELECT episode FROM bodies")


def without_surrogates(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(str(each).encode("utf-8", "replace") for each in row) for row in rows]


def test_datasets_reads_it(store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    export_run(store, tmp_path / "out")
    turns = datasets.load_dataset(str(tmp_path / "out"), "turns", split="train", cache_dir=str(tmp_path / "cache"))
    assert turns.num_rows == 6
    first = turns[0]
    assert (first["observation"], first["reply"], first["anchor"]) == ("a\x00\u2028 <b>", "say ?", (1 << 64) - 1)
    assert (first["prompt_ids"], first["reply_ids"]) == ([1, 2, 3], [4, 5])
    assert json.loads(first["advantages"]) == {"gigpo": 0.5, "grpo": 0.0}
    episodes = datasets.load_dataset(
        str(tmp_path / "out"), "episodes", split="train", cache_dir=str(tmp_path / "cache")
    )
    assert episodes["final_text"][0] == "the end"


def test_folders_that_are_there_are_left_alone(store: RunStore, tmp_path: Path) -> None:
    export_run(store, tmp_path / "out")
    with pytest.raises(CairnError, match="is there already"):
        export_run(store, tmp_path / "out")
    with pytest.raises(CairnError, match="is there already"):
        import_run(tmp_path / "out", store.path)


def test_files_that_do_not_hold_a_run_are_rejected(store: RunStore, tmp_path: Path) -> None:
    with pytest.raises(CairnError, match=r"has no meta\.parquet"):
        import_run(tmp_path, tmp_path / "new" / "run.sqlite")
    export_run(store, tmp_path / "out")
    (tmp_path / "out" / "turns.parquet").write_bytes((tmp_path / "out" / "events.parquet").read_bytes())
    with pytest.raises(CairnError, match=r"turns\.parquet' has other columns than cairn export writes: no 'episode', "):
        import_run(tmp_path / "out", tmp_path / "new" / "run.sqlite")
    assert not list((tmp_path / "new").iterdir())


def test_columns_are_found_by_name_in_any_order(store: RunStore, tmp_path: Path) -> None:
    export_run(store, tmp_path / "out")
    for file in (tmp_path / "out").glob("*.parquet"):
        table = parquet.read_table(file)
        parquet.write_table(table.select(table.column_names[::-1]), file)
    with import_run(tmp_path / "out", tmp_path / "again" / "run.sqlite") as again:
        assert_same(again, store)


@pytest.mark.parametrize(
    ("name", "others", "reported"),
    [
        (
            "metrics",
            {"more": [1, 2, 3], "value": None},
            r"metrics\.parquet' has other .*: no 'value', an unknown 'more'",
        ),
        ("turns", {"action": None}, r"turns\.parquet' has other columns than cairn export writes: no 'action'"),
        ("metrics", {"step": ["a", "b", "c"]}, "holds no run that cairn export wrote"),
        ("metrics", {"value": [None, 0.5, 0.5]}, r"NOT NULL constraint failed: metrics\.value"),
        ("turns", {"prompt_ids": [[1 << 40]] * 6}, "holds no run that cairn export wrote"),
        ("turns", {"reply_logprobs": [[0.5]] * 6}, "holds no run that cairn export wrote"),
    ],
)
def test_a_table_of_other_columns_or_values_is_refused_and_nothing_is_left(
    name: str, others: dict[str, list[Any] | None], reported: str, store: RunStore, tmp_path: Path
) -> None:  # Any: the values of a column
    export_run(store, tmp_path / "out")
    file = tmp_path / "out" / f"{name}.parquet"
    table = parquet.read_table(file)
    for column, values in others.items():
        table = table.drop_columns(column) if column in table.column_names else table
        table = table if values is None else table.append_column(column, pa.array(values))
    parquet.write_table(table, file)
    with pytest.raises(CairnError, match=reported):
        import_run(tmp_path / "out", tmp_path / "new" / "run.sqlite")
    assert not list((tmp_path / "new").iterdir())


@pytest.mark.parametrize("tables", [("bodies", "images"), ("bodies", "images", "turns", "advantages")])
def test_forgotten_texts_are_written_as_nulls_and_read_back_as_forgotten(
    tables: tuple[str, ...], store: RunStore, tmp_path: Path
) -> None:
    database = sqlite3.connect(store.path)
    for table in tables:
        database.execute(f"DELETE FROM {table} WHERE episode <= 2")
    database.commit()
    database.close()
    export_run(store, tmp_path / "out")
    written = parquet.read_table(tmp_path / "out" / "turns.parquet").to_pylist()
    forgotten = [turn for turn in written if turn["episode"] <= 2]
    assert len(forgotten) == (4 if tables == ("bodies", "images") else 0)
    assert all(turn["observation"] is turn["prompt_ids"] is turn["image"] is None for turn in forgotten)
    assert all(turn["action"] for turn in forgotten)
    with import_run(tmp_path / "out", tmp_path / "again" / "run.sqlite") as again:
        assert_same(again, store)
        assert again.body(1) is None


def test_damage_outside_the_tables_is_reported_before_anything_is_written(store: RunStore, tmp_path: Path) -> None:
    store.close()
    damage_an_index(store.path)
    with RunStore.read(store.path) as damaged, pytest.raises(CairnError, match="is damaged"):
        export_run(damaged, tmp_path / "out")
    assert not list(tmp_path.glob("*out*"))


def test_a_run_that_cannot_be_read_leaves_no_folder(store: RunStore, tmp_path: Path) -> None:
    store.insert("bodies", [{"episode": 1, "texts": b"", "prompt_ids": b"", "reply_ids": b"", "reply_logprobs": b""}])
    with pytest.raises(CairnError, match="cannot be read"):
        export_run(store, tmp_path / "out")
    assert not list(tmp_path.glob("*out*"))


def test_row_groups_are_small_and_are_read_one_by_one(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "_GROUP_BYTES", 0)
    monkeypatch.setattr(parquet_files, "_AT_ONCE", 1)
    export_run(store, tmp_path / "out")
    assert parquet.ParquetFile(tmp_path / "out" / "turns.parquet").num_row_groups == 3  # of the episodes with turns
    with import_run(tmp_path / "out", tmp_path / "again" / "run.sqlite") as again:
        assert_same(again, store)


def test_a_row_group_that_is_too_large_is_refused(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_run(store, tmp_path / "out")
    monkeypatch.setattr(parquet_files, "_MOST_BYTES", 100)
    with pytest.raises(CairnError, match=r"parquet' has a row group of 0 MiB; at most 0 MiB are read at once"):
        import_run(tmp_path / "out", tmp_path / "new" / "run.sqlite")


def test_turns_in_another_order_are_refused(store: RunStore, tmp_path: Path) -> None:
    export_run(store, tmp_path / "out")
    file = tmp_path / "out" / "turns.parquet"
    table = parquet.read_table(file)
    parquet.write_table(table.take(list(range(table.num_rows))[::-1]), file)
    with pytest.raises(
        CairnError, match=r"turns\.parquet has turns of episode \d, which episodes\.parquet lacks, or has"
    ):
        import_run(tmp_path / "out", tmp_path / "new" / "run.sqlite")


MEASURED = """
import resource, sys
from dataclasses import replace
from pathlib import Path
from cairn.core.store import RunStore
from cairn.core.store.parquet import export_run, import_run
from tests.core.store.test_store import EVERYTHING

folder, count = Path(sys.argv[1]), int(sys.argv[2])
seen = replace(EVERYTHING.turns[0].observation, image=bytes(1 << 20))
large = replace(EVERYTHING, turns=tuple(replace(turn, observation=seen) for turn in EVERYTHING.turns * 10))
with RunStore(folder / "run.sqlite") as store:
    for step in range(count):
        store.add(step, {}, [large])
    export_run(store, folder / "out")
import_run(folder / "out", folder / "again" / "run.sqlite").close()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    peaks = []
    for count in (5, 40):  # 100 MiB and 800 MiB of pictures
        (folder := tmp_path / str(count)).mkdir()
        command = [sys.executable, "-c", MEASURED, str(folder), str(count)]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] < peaks[0] + 200, peaks
