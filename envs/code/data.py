"""The benchmarks' own files, where the user has them: below the folder that CAIRN_DATA names."""

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
    """Return a file's tasks: one JSON object a line, or a list of them; gzipped where the name says so.

    Raises:
        MissingDataError: the file is not there, or is damaged.
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
