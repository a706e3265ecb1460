"""Export and import of a run store as Parquet files: for pandas, Polars, DuckDB, `datasets`.

One file per table, named as `core.store.schema` names it. ``turns`` has each turn's texts, token ids, logprobs, picture
and advantages beside its numbers; ``episodes`` has the last observation. The header of ``README.md`` lets
``datasets.load_dataset(FOLDER, "turns")`` of Hugging Face find the files. Anchors are unsigned 64-bit integers. Texts,
tokens and pictures that the store deleted to save space are nulls. Lone surrogates, which Parquet cannot hold, become
question marks; everything else is read back unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, fields
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from cairn.core.errors import CairnError, DamagedStoreError, MissingExtraError
from cairn.core.keys import signed
from cairn.core.records import Note, Observation, Turn
from cairn.core.store import read
from cairn.core.store.blobs import Body, pack
from cairn.core.store.read import EpisodeRow, TurnRow
from cairn.core.store.rows import text
from cairn.core.store.store import RunStore

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 256  # episodes or rows that are read together
_GROUP_BYTES = 32 << 20  # approximate bytes of texts, tokens and pictures in a row group
_MOST_BYTES = 1 << 30  # size limit of a row group on import
_PLAIN = ("meta", "updates", "metrics", "environments", "checkpoints", "events")  # tables without episodes
_CARD = """---
configs:
{configs}---
Episodes of a run of Cairn: `turns` has one row a turn, `episodes` one an episode, `metrics` one a step and name.
"""
Cells = dict[str, Any]  # Any: cells of any column type


def export_run(store: RunStore, folder: Path) -> dict[str, int]:
    """Write all tables of a run into a new folder and return the number of rows of each.

    Raises:
        CairnError: the folder exists, or the run's file is damaged.
        MissingExtraError: PyArrow is not installed.
    """
    pa, parquet = _arrow()
    with _made_whole(folder) as place:
        read.check(store)
        place.mkdir()
        counts = {name: _write_plain(store, name, place) for name in _PLAIN}
        counts |= {"episodes": 0, "turns": 0}
        schemas = {"episodes": _episode_schema(pa), "turns": _turn_schema(pa)}
        with ExitStack() as stack:
            writers = {
                name: stack.enter_context(parquet.ParquetWriter(place / f"{name}.parquet", schema))
                for name, schema in schemas.items()
            }
            for cells in _row_groups(store):
                for name, writer in writers.items():
                    writer.write_table(pa.Table.from_pylist(cells[name], schemas[name]))
                    counts[name] += len(cells[name])
        listed = "".join(f"- config_name: {name}\n  data_files: {name}.parquet\n" for name in sorted(counts))
        (place / "README.md").write_text(_CARD.format(configs=listed), encoding="utf-8")
    return counts


def import_run(folder: Path, path: Path) -> RunStore:
    """Create a run store from a folder that `export_run` wrote, and return it.

    Raises:
        CairnError: files are missing or malformed, or the store exists.
        MissingExtraError: PyArrow is not installed.
    """
    pa, _ = _arrow()
    missing = [name for name in (*_PLAIN, "episodes", "turns") if not (folder / f"{name}.parquet").is_file()]
    if missing:
        raise CairnError(f"{str(folder)!r} has no {missing[0]}.parquet; expected what cairn export wrote")
    with _made_whole(path) as place:
        try:
            with RunStore(place) as store:
                _read_back(store, folder)
        except (pa.ArrowException, KeyError, OverflowError, TypeError, ValueError) as error:
            raise CairnError(f"{str(folder)!r} holds no run that cairn export wrote: {error!r}") from error
    return RunStore(path)


@contextmanager
def _made_whole(place: Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to `place` on success and removed on failure.

    Raises:
        CairnError: `place` exists.
    """
    if place.exists():
        raise CairnError(f"{str(place)!r} is there already; name a new folder")
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-") as beside:
        made = Path(beside) / place.name
        yield made
        made.rename(place)


# -- export ------------------------------------------------------------------------------------------------------------


def _arrow() -> tuple[Any, Any]:  # Any: modules without types
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Parquet files", "export") from None
    return pyarrow, pyarrow.parquet


def _chunks(store: RunStore) -> Iterator[list[EpisodeRow]]:
    offset = 0
    while chunk := read.episodes(store, limit=_AT_ONCE, offset=offset):
        yield chunk
        offset += len(chunk)


def _row_groups(store: RunStore) -> Iterator[dict[str, list[Cells]]]:
    """Yield rows of both episode tables, about `_GROUP_BYTES` at a time.

    Episodes are never split.
    """
    found: dict[str, list[Cells]] = {"episodes": [], "turns": []}
    size = 0
    for chunk in _chunks(store):
        for row in chunk:
            episode, turns = _cells_of(store, row)
            found["episodes"].append(episode)
            found["turns"] += turns
            size += sum(len(cell) for cells in turns for cell in cells.values() if hasattr(cell, "__len__"))
            if size > _GROUP_BYTES:
                yield found
                found, size = {"episodes": [], "turns": []}, 0
    if found["episodes"]:
        yield found


def _cells_of(store: RunStore, row: EpisodeRow) -> tuple[Cells, list[Cells]]:
    """Return an episode's cells and those of its turns."""
    is_kept = store.body(row.id) is not None
    (episode,) = read.whole_episodes(store, [row])
    ends = _end_cells(episode.final) if is_kept and episode.final is not None else {}
    credit = read.advantages(store, row.id)
    turns = []
    for turn, found in zip(read.turns(store, [row.id])[row.id], episode.turns, strict=True):
        advantages = {name: float(values[turn.turn]) for name, values in credit.items()}
        turns.append({**_turn_cells(turn, advantages), **(_text_cells(found) if is_kept else {})})
    return {**asdict(row), **ends}, turns


def _end_cells(final: Observation) -> Cells:
    return {"final_text": text(final.text), "final_image": final.image}


def _turn_cells(row: TurnRow, advantages: dict[str, float]) -> Cells:
    return {
        **asdict(row),
        "channels": json.dumps(row.channels),
        "acted": None if row.acted is None else list(row.acted),
        "advantages": json.dumps(advantages),
    }


def _text_cells(turn: Turn) -> Cells:
    return {
        "observation": text(turn.observation.text),
        "reply": text(turn.reply_text),
        "notes": json.dumps([(note.kind, note.text) for note in turn.notes]),
        "image": turn.observation.image,
        "prompt_ids": turn.prompt_ids,
        "reply_ids": turn.reply_ids,
        "reply_logprobs": turn.reply_logprobs,
    }


def _write_plain(store: RunStore, name: str, folder: Path) -> int:
    pa, parquet = _arrow()
    schema = _plain_schema(pa, store, name)
    rows = store.rows(f"SELECT * FROM {name}")
    cells = [dict(zip(schema.names, row, strict=True)) for row in rows]
    parquet.write_table(pa.Table.from_pylist(cells, schema), folder / f"{name}.parquet")
    return len(rows)


# -- columns -----------------------------------------------------------------------------------------------------------

_KINDS = {
    "int": "int64", "int | None": "int64", "float": "float64", "float | None": "float64", "bool": "bool_",
    "bool | None": "bool_", "str": "string", "str | None": "string", "Any": "string", "dict[str, float]": "string",
}  # fmt: skip
_ANCHORS = ("anchor", "final_anchor")


def _plain_schema(pa: Any, store: RunStore, name: str) -> pa.Schema:  # Any: PyArrow, which has no types
    kinds = {"INTEGER": pa.int64(), "REAL": pa.float64(), "TEXT": pa.string()}
    return pa.schema([(row[1], kinds[row[2]]) for row in store.rows(f"PRAGMA table_info({name})")])


def _columns(pa: Any, row: type) -> list[tuple[str, Any]]:  # Any: PyArrow, which has no types
    found = []
    for field in fields(row):
        kind = "uint64" if field.name in _ANCHORS else _KINDS.get(str(field.type), "")
        found.append((field.name, getattr(pa, kind)() if kind else pa.list_(pa.int64())))
    return found


def _episode_schema(pa: Any) -> pa.Schema:  # Any: as above
    return pa.schema([*_columns(pa, EpisodeRow), ("final_text", pa.string()), ("final_image", pa.binary())])


def _turn_schema(pa: Any) -> pa.Schema:  # Any: as above
    ids, logprobs = pa.list_(pa.int32()), pa.list_(pa.float32())
    more = [
        ("observation", pa.string()), ("reply", pa.string()), ("notes", pa.string()), ("image", pa.binary()),
        ("prompt_ids", ids), ("reply_ids", ids), ("reply_logprobs", logprobs), ("advantages", pa.string()),
    ]  # fmt: skip
    return pa.schema([*_columns(pa, TurnRow), *more])


# -- import ------------------------------------------------------------------------------------------------------------


def _read_back(store: RunStore, folder: Path) -> None:
    pa, _ = _arrow()
    for name in _PLAIN:
        for rows in _batches(folder, name, _plain_schema(pa, store, name)):
            store.insert(name, rows)
    turns = _by_episode(folder, _turn_schema(pa))
    pending = next(turns, None)  # the next episode that has turns
    tasks: dict[tuple[str, ...], int] = {}
    for chunk in _batches(folder, "episodes", _episode_schema(pa)):
        for episode in chunk:
            own: list[Cells] = []
            if pending is not None and pending[0] == episode["id"]:
                own, pending = pending[1], next(turns, None)
            if (key := _task(episode)) not in tasks:
                tasks[key] = len(tasks) + 1
                store.insert("tasks", [dict(zip(("id", *_OF_TASK), (tasks[key], *key), strict=True))])
            found: dict[str, list[Cells]] = {}
            for table, row in _rows_of(episode, own, tasks[key]):
                found.setdefault(table, []).append(row)
            for table, added in found.items():
                store.insert(table, added)
    if pending is not None:
        raise CairnError(
            f"{str(folder)!r}: turns.parquet has turns of episode {pending[0]}, which episodes.parquet lacks, or has "
            "in another order"
        )
    try:
        read.check(store)
    except DamagedStoreError as error:
        raise ValueError(error.how) from error


def _by_episode(folder: Path, schema: Any) -> Iterator[tuple[int, list[Cells]]]:  # Any: PyArrow, as above
    """Yield each episode's number and turns; the turns of an episode are adjacent in the file."""
    cells = (each for batch in _batches(folder, "turns", schema) for each in batch)
    for episode, turns in groupby(cells, key=lambda each: int(each["episode"])):
        yield episode, list(turns)


def _batches(folder: Path, name: str, schema: Any) -> Iterator[list[Cells]]:  # Any: PyArrow, as above
    """Yield batches of a table's rows; the order of the file's columns does not matter.

    Raises:
        CairnError: columns are missing or unknown, or a row group takes too much memory.
    """
    pa, parquet = _arrow()
    path = folder / f"{name}.parquet"
    with parquet.ParquetFile(path) as file:
        columns = file.schema_arrow.names
        missing = [f"no {each!r}" for each in schema.names if each not in columns]
        unknown = [f"an unknown {each!r}" for each in columns if each not in schema.names]
        if missing or unknown:
            raise CairnError(
                f"{str(path)!r} has other columns than cairn export writes: {', '.join([*missing, *unknown])}"
            )
        sizes = [file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups)]
        if max(sizes, default=0) > _MOST_BYTES:
            raise CairnError(
                f"{str(path)!r} has a row group of {max(sizes) >> 20} MiB; at most {_MOST_BYTES >> 20} MiB are read at "
                "once. Write it again with smaller row groups"
            )
        for group in range(file.num_row_groups):  # PyArrow fills a batch from several row groups if it may
            for batch in file.iter_batches(_AT_ONCE, row_groups=[group], columns=schema.names):
                yield pa.Table.from_batches([batch]).select(schema.names).cast(schema).to_pylist()


_OF_TASK = ("env", "task", "split", "type")


def _task(cells: Cells) -> tuple[str, ...]:
    return tuple(cells[name] for name in _OF_TASK)


def _episode_row(cells: Cells, task: int) -> Cells:
    final = cells["final_anchor"]
    row = {field.name: cells[field.name] for field in fields(EpisodeRow) if field.name not in _OF_TASK}
    return {**row, "task": task, "final_anchor": None if final is None else signed(final)}


def _turn_row(cells: Cells) -> Cells:
    return {
        **{field.name: cells[field.name] for field in fields(TurnRow)},
        "anchor": signed(cells["anchor"]),
        "channels": None if cells["channels"] == "{}" else cells["channels"],
        "acted": None if cells["acted"] is None else json.dumps(cells["acted"]),
    }


def _rows_of(episode: Cells, turns: Sequence[Cells], task: int) -> Iterator[tuple[str, Cells]]:
    """Yield the tables and rows of an episode and its turns.

    Text rows are left out if the texts were deleted.
    """
    yield "episodes", _episode_row(episode, task)
    number = {"episode": episode["id"]}
    for each in turns:
        yield "turns", _turn_row(each)
    credit = [json.loads(each["advantages"]) for each in turns]
    for method in credit[0] if credit else ():
        values = np.array([each[method] for each in credit], np.float64)
        yield "advantages", {**number, "method": method, "values": values.tobytes()}
    if len(turns) < episode["turns"] or any(each["observation"] is None for each in turns):
        return
    if packed := pack(_body(episode, turns)):
        yield "bodies", {**number, **dict(zip(_BODY, packed, strict=True))}
    for t, png in enumerate([*(each["image"] for each in turns), episode["final_image"]]):
        if png is not None:
            yield "images", {**number, "turn": t, "png": png}


_BODY = ("texts", "prompt_ids", "reply_ids", "reply_logprobs")


def _body(episode: Cells, turns: Sequence[Cells]) -> Body:
    notes = [json.loads(each["notes"]) for each in turns]
    return Body(
        observations=tuple(each["observation"] for each in turns),
        replies=tuple(each["reply"] for each in turns),
        final=episode["final_text"],
        notes=tuple(tuple(Note(kind=kind, text=text) for kind, text in each) for each in notes),
        prompt_ids=_joined(turns, "prompt_ids", np.int32),
        reply_ids=_joined(turns, "reply_ids", np.int32),
        reply_logprobs=_joined(turns, "reply_logprobs", np.float32),
    )


def _joined(turns: Sequence[Cells], name: str, kind: type) -> Any:  # Any: an array of that type
    return np.array([value for each in turns for value in each[name] or ()], kind)
