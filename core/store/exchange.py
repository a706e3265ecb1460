"""A run's store as a folder of Parquet files, and back: for pandas, Polars, DuckDB and Hugging Face's `datasets`.

One file a table, named as `core.store.schema` names it. ``turns`` has each turn's texts, token ids, logprobs, picture
and advantages beside its numbers, ``episodes`` what the last step led to. ``README.md`` has the header by which
``datasets.load_dataset(FOLDER, "turns")`` finds the files. Anchors are unsigned 64-bit integers. Half characters (lone
surrogates), which Parquet cannot hold, become question marks; all else is read back as it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cairn.core.errors import CairnError, MissingExtraError
from cairn.core.records import Ending, Episode, Note, Observation, Task, Tokens, Turn
from cairn.core.store import read
from cairn.core.store.read import EpisodeRow, TurnRow
from cairn.core.store.rows import text
from cairn.core.store.store import RunStore

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 256  # episodes in a row group
_PLAIN = ("meta", "updates", "metrics", "environments", "checkpoints", "events")  # tables without episodes
_CARD = """---
configs:
{configs}---
Episodes of a run of Cairn: `turns` has one row a turn, `episodes` one an episode, `metrics` one a step and name.
"""
Cells = dict[str, Any]  # Any: what a column holds


def export_run(store: RunStore, folder: Path) -> dict[str, int]:
    """Write a run's tables into a new folder and return how many rows each has.

    Raises:
        CairnError: the folder is there, or texts of the run were forgotten.
        MissingExtraError: PyArrow is not installed.
    """
    pa, parquet = _arrow()
    if folder.exists():
        raise CairnError(f"{str(folder)!r} is there already; name a new folder")
    folder.mkdir(parents=True)
    counts = {name: _write_plain(store, name, folder) for name in _PLAIN}
    counts |= {"episodes": 0, "turns": 0}
    schemas = {"episodes": _episode_schema(pa), "turns": _turn_schema(pa)}
    writers = {name: parquet.ParquetWriter(folder / f"{name}.parquet", schema) for name, schema in schemas.items()}
    try:
        for chunk in _chunks(store):
            for name, cells in zip(schemas, _cells_of(store, chunk), strict=True):
                writers[name].write_table(pa.Table.from_pylist(cells, schemas[name]))
                counts[name] += len(cells)
    finally:
        for writer in writers.values():
            writer.close()
    names = sorted(counts)
    listed = "".join(f"- config_name: {name}\n  data_files: {name}.parquet\n" for name in names)
    (folder / "README.md").write_text(_CARD.format(configs=listed), encoding="utf-8")
    return counts


def import_run(folder: Path, path: Path) -> RunStore:
    """Make a new run store of what `export_run` wrote, and return it.

    Raises:
        CairnError: files are missing or are no such tables, or the store is there already.
        MissingExtraError: PyArrow is not installed.
    """
    pa, parquet = _arrow()
    if path.exists():
        raise CairnError(f"{str(path)!r} is there already; name a new folder")
    missing = [name for name in (*_PLAIN, "episodes", "turns") if not (folder / f"{name}.parquet").is_file()]
    if missing:
        raise CairnError(f"{str(folder)!r} has no {missing[0]}.parquet; expected what cairn export wrote")
    path.parent.mkdir(parents=True, exist_ok=True)
    store = RunStore(path)
    try:
        episodes = parquet.read_table(folder / "episodes.parquet").to_pylist()
        _add_all(store, episodes, _turns_by_episode(parquet, folder))
        for name in _PLAIN:
            rows = parquet.read_table(folder / f"{name}.parquet").to_pylist()
            store.insert(name, [tuple(each.values()) for each in rows])
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        store.close()
        path.unlink()
        raise CairnError(f"{str(folder)!r} holds no run that cairn export wrote: {error!r}") from error
    return store


# -- out ---------------------------------------------------------------------------------------------------------------


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


def _cells_of(store: RunStore, chunk: Sequence[EpisodeRow]) -> tuple[list[Cells], list[Cells]]:
    episodes, turns = [], []
    rows = read.turns(store, [row.id for row in chunk])
    for row, episode in zip(chunk, read.whole_episodes(store, chunk), strict=True):
        if row.turns and store.body(row.id) is None:
            raise CairnError(f"Texts of episode {row.id} were forgotten to make room: see store.max_gb")
        last = episode.final
        ends = {"final_text": None if last is None else text(last.text), "final_image": last and last.image}
        episodes.append({**asdict(row), **ends})
        credit = read.advantages(store, row.id)
        for turn, found in zip(rows[row.id], episode.turns, strict=True):
            turns.append(_turn_cells(turn, found, {name: float(v[turn.turn]) for name, v in credit.items()}))
    return episodes, turns


def _turn_cells(row: TurnRow, turn: Turn, advantages: dict[str, float]) -> Cells:
    return {
        **asdict(row),
        "channels": json.dumps(row.channels),
        "acted": None if row.acted is None else list(row.acted),
        "observation": text(turn.observation.text),
        "reply": text(turn.reply_text),
        "notes": json.dumps([(note.kind, note.text) for note in turn.notes]),
        "image": turn.observation.image,
        "prompt_ids": turn.prompt_ids,
        "reply_ids": turn.reply_ids,
        "reply_logprobs": turn.reply_logprobs,
        "advantages": json.dumps(advantages),
    }


def _write_plain(store: RunStore, name: str, folder: Path) -> int:
    pa, parquet = _arrow()
    columns = [row[1] for row in store.rows(f"PRAGMA table_info({name})")]
    rows = store.rows(f"SELECT * FROM {name}")
    kinds = {"INTEGER": pa.int64(), "REAL": pa.float64(), "TEXT": pa.string()}
    schema = pa.schema([(row[1], kinds[row[2]]) for row in store.rows(f"PRAGMA table_info({name})")])
    cells = [dict(zip(columns, row, strict=True)) for row in rows]
    parquet.write_table(pa.Table.from_pylist(cells, schema), folder / f"{name}.parquet")
    return len(rows)


_KINDS = {
    "int": "int64", "int | None": "int64", "float": "float64", "float | None": "float64", "bool": "bool_",
    "bool | None": "bool_", "str": "string", "str | None": "string", "Any": "string", "dict[str, float]": "string",
}  # fmt: skip
_ANCHORS = ("anchor", "final_anchor")


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


# -- back --------------------------------------------------------------------------------------------------------------


def _turns_by_episode(parquet: Any, folder: Path) -> dict[int, list[Cells]]:  # Any: PyArrow
    found: dict[int, list[Cells]] = {}
    for cells in parquet.read_table(folder / "turns.parquet").to_pylist():
        found.setdefault(cells["episode"], []).append(cells)
    return found


def _add_all(store: RunStore, episodes: Sequence[Cells], turns: dict[int, list[Cells]]) -> None:
    """Add episodes in the order they had, those of one step, phase and kind of credit at once."""

    def kind(cells: Cells) -> tuple[int, str, tuple[str, ...]]:
        first = turns.get(cells["id"], [{"advantages": "{}"}])[0]
        return cells["step"], cells["phase"], tuple(sorted(json.loads(first["advantages"])))

    for (step, phase, methods), group in groupby(episodes, kind):
        chosen = list(group)
        credit = {
            method: [json.loads(turn["advantages"])[method] for each in chosen for turn in turns.get(each["id"], ())]
            for method in methods
        }
        made = [_episode(each, turns.get(each["id"], [])) for each in chosen]
        store.add(step, {}, made, phase=phase, task_types=[each["type"] for each in chosen], advantages=credit)


def _episode(cells: Cells, turns: Sequence[Cells]) -> Episode:
    final = None
    if cells["final_anchor"] is not None:
        final = Observation(text=cells["final_text"], anchor=cells["final_anchor"], image=cells["final_image"])
    return Episode(
        task=Task(env_id=cells["env"], task_id=cells["task"], split=cells["split"], seed=cells["seed"]),
        group_id=cells["group_id"],
        turns=tuple(_turn(each) for each in turns),
        ending=Ending(kind=cells["ending"], cause=cells["cause"], detail=cells["detail"]),
        score=cells["score"],
        success=cells["success"],
        final=final,
        origin=cells["origin"],
        parent=cells["parent"],
        fork_turn=cells["fork_turn"],
    )


def _turn(cells: Cells) -> Turn:
    tokens = None
    if cells["prompt_tokens"] is not None:
        tokens = Tokens(
            prompt=cells["prompt_tokens"],
            cached=cells["cached_tokens"],
            reply=cells["reply_tokens"],
            cost=cells["cost"],
        )
    return Turn(
        observation=Observation(text=cells["observation"], anchor=cells["anchor"], image=cells["image"]),
        reply_text=cells["reply"],
        action=cells["action"],
        reward=cells["reward"],
        is_valid=cells["valid"],
        channels=json.loads(cells["channels"]),
        prompt_ids=_array(cells["prompt_ids"], np.int32),
        extends_previous=cells["extends"],
        reply_ids=_array(cells["reply_ids"], np.int32),
        reply_logprobs=_array(cells["reply_logprobs"], np.float32),
        tokens=tokens,
        policy_version=cells["version"],
        seconds=cells["seconds"],
        acted=None if cells["acted"] is None else tuple(cells["acted"]),
        notes=tuple(Note(kind=kind, text=said) for kind, said in json.loads(cells["notes"])),
    )


def _array(values: Sequence[float] | None, kind: type) -> Any:  # Any: an array of that type, or None
    return None if values is None else np.array(values, kind)
