"""Attacks: one program each in `programs`, with what must come of it in the comments at its top.

The docstring tells the name and the aim. `limits`: one of these must end it, else it may end as it likes; `wall_s`: its
time, 2 s unless said; `open to`: kinds of sandbox that do not promise to hold it. A program that gets what it must not
have prints ESCAPED, and how. It may use the bait that the host has set out: TCP, UDP, ABSTRACT, UNIX, PID, SECRET and
SECRET_FILE. It may use the limits of its session too: MEMORY_BYTES, PROCESSES, DISK_BYTES, FILES and OPEN_FILES. An
attack on a limit takes about twice as much as the limit allows, so that it does little harm where nothing holds it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PROGRAMS = Path(__file__).parent / "programs"
_SETTING = re.compile(r"^# (limits|wall_s|open to): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """A hostile program."""

    name: str
    aim: str  # in words
    source: str
    limits: frozenset[str]  # one of these must end it; empty: it may end as it likes
    wall_s: float
    open_to: frozenset[str]  # kinds of sandbox that do not promise to hold it


@cache
def attacks() -> tuple[Attack, ...]:
    """Return all attacks, by file name."""
    return tuple(_read(path) for path in sorted(_PROGRAMS.glob("*.py")))


def _read(path: Path) -> Attack:
    source = path.read_text()
    name, _, aim = (ast.get_docstring(ast.parse(source)) or "").removesuffix(".").partition(": ")
    said = dict(_SETTING.findall(source))
    return Attack(
        name=name,
        aim=aim,
        source=source,
        limits=frozenset(said.get("limits", "").split()),
        wall_s=float(said.get("wall_s", 2)),
        open_to=frozenset(said.get("open to", "").split()),
    )
