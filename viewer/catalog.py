"""The runs of the viewer: found once, named for URLs, opened again for each request.

A run's part of a URL is its number in the list and the URL-safe part of its folder's name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cairn.core.errors import CairnError
from cairn.core.store import RunStore


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """The folder of a run, and its name in URLs."""

    slug: str  # its part of a URL: lower-case letters, digits and dashes
    name: str  # its folder's name, unchanged
    folder: Path

    def open(self) -> RunStore:
        """Open its store for reading."""
        return RunStore.read(self.folder)

    def tokenizer_file(self, store: RunStore) -> Path | None:
        """Return the tokenizer file of the newest checkpoint, or None.

        An evaluation without checkpoints has its agent's tokenizer.
        """
        found = sorted((self.folder / "checkpoints").glob("update-*/tokenizer.json"))
        folder = dig(store.meta(), "facts", "agent_folder")
        if isinstance(folder, str) and not found:
            found = [Path(folder, "tokenizer.json")]
        return found[-1] if found and os.path.isfile(found[-1]) else None  # Path.is_file raises for a long name


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A run that cannot be shown: it is damaged, was deleted, or is not far enough."""

    place: RunPlace
    why: str


def find_runs(paths: Sequence[Path]) -> tuple[RunPlace, ...]:
    """Return the runs at these paths: folders of runs, or parents of such folders.

    Raises:
        CairnError: a path has no run.
    """
    folders: dict[Path, None] = {}
    for path in paths:
        inside = [path] if _is_run(path) else sorted(p for p in path.glob("*") if _is_run(p))
        if not inside:
            raise CairnError(f"{str(path)!r} holds no run: expected a folder with run.sqlite, or one of such folders")
        folders |= dict.fromkeys(found.resolve() for found in inside)
    return tuple(_place(number, folder) for number, folder in enumerate(folders, 1))


def dig(tables: object, *keys: str) -> Any:  # Any: any JSON value
    """Return the value under these keys of a stored configuration, or None if it is missing."""
    for key in keys:
        tables = tables.get(key) if isinstance(tables, Mapping) else None
    return tables


def _is_run(path: Path) -> bool:
    return (path / "run.sqlite").is_file()


def _place(number: int, folder: Path) -> RunPlace:
    harmless = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")[:48]
    return RunPlace(slug=f"{number}-{harmless}".strip("-"), name=folder.name, folder=folder)
