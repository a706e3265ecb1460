"""Reads real games from compact files or from ALFWorld's own folders.

The compact files are ``alfworld/<split>.jsonl.gz``, ALFWorld's folders ``json_2.1.1/<split>``. The paths come only from
the environment variables CAIRN_DATA and ALFWORLD_DATA. A split is opened once per process and
shared by all environments. A game is read and parsed when it is first played. Nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import Any

from cairn.core.errors import CairnError, MissingDataError, UnknownNameError
from cairn.envs.household.archive import LineArchive
from cairn.envs.household.goals import TASK_TYPES
from cairn.envs.household.house import House
from cairn.envs.household.pddl import MAX_TEXT, parse_game

REAL_SPLITS = ("train", "valid_seen", "valid_unseen")
LAYOUT = "json_2.1.1"  # folder name in the original data
_KEPT_HOUSES = 512
_ID = re.compile(rb'"id": ?"([^"\\]{1,300})"')
_SENTENCE = re.compile(r'"rhs": "(Your task is to: [^"\\]*)"')


class Games(ABC):
    """One split's games, with a cache of recent houses.

    The cache lets a group of episodes parse its game only once.
    """

    ids: tuple[str, ...]  # task ids, in the data's order

    def __init__(self) -> None:
        self._houses: OrderedDict[str, House] = OrderedDict()

    def house(self, task_id: str) -> House:
        """Return a game's house.

        Raises:
            UnknownNameError: the split has no such game.
            CairnError: its data is malformed.
        """
        if task_id not in self:
            raise UnknownNameError("task of household", task_id, self.ids, "cairn envs list household --tasks")
        house = self._houses.pop(task_id, None) or self.read(task_id)
        self._houses[task_id] = house
        if len(self._houses) > _KEPT_HOUSES:
            self._houses.popitem(last=False)
        return house

    @abstractmethod
    def __contains__(self, task_id: str) -> bool:
        """Return whether the split has this game."""

    @abstractmethod
    def read(self, task_id: str) -> House:
        """Read and parse a game without the cache."""


class CompactGames(Games):
    """Games of one ``<split>.jsonl.gz``."""

    def __init__(self, path: Path, split: str) -> None:
        super().__init__()
        ids: list[str] = []

        def note(line: bytes) -> None:
            match = _ID.search(line, 0, 1000)
            if match is None:
                raise CairnError(f'{str(path)!r}: line {len(ids) + 1} does not begin with an "id"')
            ids.append(f"{split}/{match[1].decode()}")

        self._lines = LineArchive(path, note)
        self.ids = tuple(ids)
        self._numbers = {task_id: i for i, task_id in enumerate(ids)}

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._numbers

    def read(self, task_id: str) -> House:
        """Read and parse a game without the cache."""
        return load_row(_json(self._lines.line(self._numbers[task_id]), task_id), task_id)


class FolderGames(Games):
    """Games of one ``json_2.1.1/<split>`` folder."""

    def __init__(self, folder: Path, split: str) -> None:
        super().__init__()
        files = {f"{split}/{f.parent.parent.name}/{f.parent.name}": f for f in folder.glob("*/*/game.tw-pddl")}
        self.ids = tuple(sorted(files))
        self._files = files

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._files

    def read(self, task_id: str) -> House:
        """Read and parse a game without the cache."""
        file = self._files[task_id]
        if file.stat().st_size > 4 * MAX_TEXT:
            raise CairnError(f"Game {task_id!r}: {str(file)!r} is larger than {4 * MAX_TEXT} bytes")
        row = _json(file.read_bytes(), task_id)
        sentence = _SENTENCE.search(str(row.get("grammar", "")))
        if sentence is None:
            raise CairnError(f"Game {task_id!r}: no 'Your task is to: ...' in the grammar of {str(file)!r}")
        return load_row({**row, "task": sentence[1]}, task_id)


def load_row(row: dict[str, Any], task_id: str) -> House:  # Any: a line of JSON
    """Return the house of one compact row.

    Raises:
        CairnError: the row lacks its text or its task sentence, or one of them is malformed.
    """
    for key in ("pddl_problem", "task"):
        if not isinstance(row.get(key), str):
            raise CairnError(f"Game {task_id!r}: expected the text {key!r}, got {row.get(key)!r:.100}")
    return parse_game(row["pddl_problem"], task=row["task"], game=task_id)


def task_type_of(task_id: str) -> str | None:
    """Return the task type that a real game's id begins with, or None."""
    name = task_id.partition("/")[2]
    return next((kind for kind in TASK_TYPES if name.startswith(kind + "-")), None)


def open_split(split: str) -> Games:
    """Return one split's games; all callers in a process share them.

    Raises:
        MissingDataError: no files found; lists the paths tried and the variables to set.
    """
    tried = _candidates(split)
    for path in tried:
        if path.is_file() or (path.is_dir() and any(path.iterdir())):
            return _open(path, split)
    looked = ", ".join(str(path) for path in tried) or "nowhere: neither variable is set"
    raise MissingDataError(
        f"No ALFWorld games for split {split!r} (looked at: {looked}). Set CAIRN_DATA to the folder that holds "
        f"alfworld/{split}.jsonl.gz, or ALFWORLD_DATA to the one that holds {LAYOUT}/{split}. "
        "Generated houses need no data: split='gen-train'."
    )


def _candidates(split: str) -> list[Path]:
    paths = []
    if compact := os.environ.get("CAIRN_DATA"):
        root = Path(compact)
        paths = [root / "alfworld" / f"{split}.jsonl.gz", root / f"{split}.jsonl.gz", root / LAYOUT / split]
    if original := os.environ.get("ALFWORLD_DATA"):
        paths.append(Path(original) / LAYOUT / split)
    return paths


@lru_cache(maxsize=16)
def _open(path: Path, split: str) -> Games:
    return CompactGames(path, split) if path.is_file() else FolderGames(path, split)


def _json(data: bytes, task_id: str) -> dict[str, Any]:  # Any: a line of JSON
    try:
        row = json.loads(data)
    except ValueError as error:
        raise CairnError(f"Game {task_id!r}: not JSON: {error}") from None
    if not isinstance(row, dict):
        raise CairnError(f"Game {task_id!r}: expected a JSON object, got {type(row).__name__}")
    return row
