"""Attacks: one program each in `programs`, with settings in its first comments.

The docstring has the name and the aim. Settings: `limits`: one of these must end the program, else any end is accepted;
`wall_s`: its wall time, 2 s by default; `open to`: kinds of sandbox that do not promise to stop the attack. A program
that gets forbidden access prints ESCAPED, and how. It may use the canaries that the host sets up: TCP, UDP, ABSTRACT,
UNIX, PID, SECRET and SECRET_FILE. It may also use the limits of its session: MEMORY_BYTES, PROCESSES, DISK_BYTES, FILES
and OPEN_FILES. An attack on a limit takes about twice as much as the limit allows, so that it does little harm if no
limit is enforced.
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
    limits: frozenset[str]  # one of these must end it; empty: any end is accepted
    wall_s: float
    open_to: frozenset[str]  # kinds of sandbox that do not promise to stop it


@cache
def attacks() -> tuple[Attack, ...]:
    """Return all attacks, by file name."""
    return tuple(_read(path) for path in sorted(_PROGRAMS.glob("*.py")))


def _read(path: Path) -> Attack:
    source = path.read_text()
    name, _, aim = (ast.get_docstring(ast.parse(source)) or "").removesuffix(".").partition(": ")
    settings = dict(_SETTING.findall(source))
    return Attack(
        name=name,
        aim=aim,
        source=source,
        limits=frozenset(settings.get("limits", "").split()),
        wall_s=float(settings.get("wall_s", 2)),
        open_to=frozenset(settings.get("open to", "").split()),
    )
