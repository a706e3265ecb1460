"""Files of a work folder: entries of a listing, and a snapshot of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something in the work folder."""

    path: str
    kind: Kind
    size: int  # bytes; 0 unless a file
    mode: int  # permission bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A work folder as it was; goes into any session."""

    entries: tuple[tuple[str, str, int, int, str], ...]  # path, kind, size, mode, target of a link
    data: bytes  # of the files, one after another
