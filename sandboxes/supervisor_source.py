"""How the supervisor comes into a sandbox of any kind: as the text of a command and as bytes ahead of all requests."""

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
    """Return the supervisor's modules as `inside/bootstrap.py` reads them: a length and a JSON object of sources."""
    files = sorted(file for file in INSIDE.glob("*.py") if file.stem not in _APART)
    sources = json.dumps({file.stem: file.read_text(encoding="utf-8") for file in files}).encode()
    return len(sources).to_bytes(4, "big") + sources
