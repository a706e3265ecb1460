"""Reads the original benchmarks' files from the folder that CAIRN_DATA names."""

from __future__ import annotations

import gzip
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from cairn.core.errors import MissingDataError


@cache
def rows(name: str) -> tuple[dict[str, Any], ...]:  # Any: JSON
    """Return a file's tasks from JSON lines or a JSON list; a file named `*.gz` is decompressed.

    Raises:
        MissingDataError: the file does not exist or is damaged.
    """
    folder = os.environ.get("CAIRN_DATA")
    path = Path(folder or ".") / name
    if not folder or not path.exists():
        raise MissingDataError(f"No file {name!r} (looked at: {path}). Set CAIRN_DATA to the folder that holds {name}")
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        is_list = text.lstrip().startswith("[")
        return tuple(json.loads(text) if is_list else map(json.loads, filter(str.strip, text.splitlines())))
    except (OSError, ValueError, EOFError) as error:
        raise MissingDataError(f"Cannot read {path}: {error}. Fetch it again") from error
