"""Converts the contents of a user environment's world to bytes for anchors.

Supported are numbers, texts, bytes, arrays and containers of these, dataclasses, pydantic models, dates, enumerations,
SQLite connections, folders (as `pathlib.Path`), and any object with a method `cairn_state()` that returns one of these.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from cairn.core.keys import canonical_bytes


def state_bytes(value: object) -> bytes:
    """Return bytes that are equal only for equal contents.

    Two SQLite databases with equal rows may give different bytes, because earlier deletions affect the storage.

    Raises:
        TypeError: the type is not supported, or the object refers to itself.
    """
    try:
        return canonical_bytes(_plain(value))
    except RecursionError:
        raise TypeError(f"{type(value).__name__} refers to itself") from None


def _plain(value: Any) -> Any:  # Any: checked by canonical_bytes
    """Return contents as plain numbers, texts, bytes and containers."""
    if callable(state := getattr(value, "cairn_state", None)):
        return _plain(state())
    if isinstance(value, Mapping):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(_plain, value)]
    if isinstance(value, (set, frozenset)):
        return sorted(canonical_bytes(_plain(item)) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__qualname__, {field.name: _plain(getattr(value, field.name)) for field in fields(value)}]
    if isinstance(value, BaseModel):
        return [type(value).__qualname__, {name: _plain(item) for name, item in value}]
    if isinstance(value, sqlite3.Connection):
        return _database(value)
    if isinstance(value, Path):
        return _folder(value)
    if isinstance(value, Enum):
        return [type(value).__qualname__, value.name]
    return [type(value).__name__, str(value)] if isinstance(value, (date, time, Decimal)) else value


def _key(key: Any) -> Any:  # Any: a mapping's key
    plain = _plain(key)
    return canonical_bytes(plain) if isinstance(plain, (list, dict)) else plain


def _database(connection: sqlite3.Connection) -> bytes:
    try:
        return connection.serialize()
    except sqlite3.OperationalError:  # an empty database
        return "\n".join(connection.iterdump()).encode()


def _folder(root: Path) -> dict[str, Any]:  # Any: a file's content, or a link's target
    """Return the files below a folder, or one file; links are not followed."""
    if root.is_symlink():
        return {"": ["link", str(root.readlink())]}
    if root.is_file():
        return {"": root.read_bytes()}
    return {each.name: _folder(each) for each in root.iterdir()} if root.is_dir() else {}
