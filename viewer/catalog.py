"""The runs that are shown: found once, named for addresses, opened anew by each request.

A run's part of an address is its place in the list and what of its folder's name is harmless there.
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
    """Where a run is."""

    slug: str  # its part of an address: lower-case letters, digits and dashes
    name: str  # its folder's, as it is
    folder: Path

    def open(self) -> RunStore:
        """Open its store, to read."""
        return RunStore.read(self.folder)

    def tokenizer_file(self, store: RunStore) -> Path | None:
        """Return the newest checkpoint's tokenizer, or of an evaluation its agent's; None: there is none."""
        found = sorted((self.folder / "checkpoints").glob("update-*/tokenizer.json"))
        folder = dig(store.meta(), "facts", "agent_folder")
        if isinstance(folder, str) and not found:
            found = [Path(folder, "tokenizer.json")]
        return (
            found[-1] if found and os.path.isfile(found[-1]) else None
        )  # Path.is_file raises where a name is too long


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A run that cannot be shown: it is damaged, was deleted, or has not come as far as it has to."""

    place: RunPlace
    why: str


def find_runs(paths: Sequence[Path]) -> tuple[RunPlace, ...]:
    """Return the runs at these places: folders of runs, or folders that such folders stand in.

    Raises:
        CairnError: there is no run at one of them.
    """
    folders: dict[Path, None] = {}
    for path in paths:
        inside = [path] if _is_run(path) else sorted(p for p in path.glob("*") if _is_run(p))
        if not inside:
            raise CairnError(f"{str(path)!r} holds no run: expected a folder with run.sqlite, or one of such folders")
        folders |= dict.fromkeys(found.resolve() for found in inside)
    return tuple(_place(number, folder) for number, folder in enumerate(folders, 1))


def dig(tables: object, *keys: str) -> Any:  # Any: whatever JSON can hold
    """Return what stands under these keys of a stored configuration; None where nothing does."""
    for key in keys:
        tables = tables.get(key) if isinstance(tables, Mapping) else None
    return tables


def _is_run(path: Path) -> bool:
    return (path / "run.sqlite").is_file()


def _place(number: int, folder: Path) -> RunPlace:
    harmless = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")[:48]
    return RunPlace(slug=f"{number}-{harmless}".strip("-"), name=folder.name, folder=folder)
