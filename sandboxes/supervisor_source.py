"""The supervisor's source: the text of a command, and bytes sent before all requests."""

from __future__ import annotations

import functools
import json
from pathlib import Path

INSIDE = Path(__file__).parent / "inside"
_APART = ("__init__", "bootstrap", "repl")


def command(python: str) -> list[str]:
    """Return the command of a supervisor, which first reads `modules` from its standard input."""
    bootstrap = (INSIDE / "bootstrap.py").read_text(encoding="utf-8")
    return [python, "-s", "-S", "-B", "-u", "-c", bootstrap]


@functools.cache
def modules() -> bytes:
    """Return the supervisor's modules as read by `inside/bootstrap.py`.

    The format is a length and a JSON object of sources by name.
    """
    files = sorted(file for file in INSIDE.glob("*.py") if file.stem not in _APART)
    sources = json.dumps({file.stem: file.read_text(encoding="utf-8") for file in files}).encode()
    return len(sources).to_bytes(4, "big") + sources
