"""Records of sandboxes: program results, file entries, and snapshots of a work folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cairn.core.errors import CairnError

LimitName = Literal["wall", "cpu", "memory", "processes", "file", "disk", "files", "output"]
_NOT_OPEN = "no program is open"  # the supervisor's message for this mistake of the caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of a program."""

    exit_code: int | None  # None: a signal ended it, or it continues
    signal: int | None  # the signal that ended it; None: it exited, or it continues
    stdout: bytes
    stderr: bytes
    wall_s: float
    waited_s: float  # part of `wall_s` in which it was ready and had no processor: to about 20 ms
    cpu_s: float  # of all its processes
    peak_memory_bytes: int  # the most seen at once, or of its largest process
    limit: LimitName | None  # the limit that ended it or made it fail; None: none
    line: str | None = None  # the open program's answer; None: it has ended
    refused: tuple[str, ...] = ()  # the first different connections that the network's list refused since the last one
    num_refused: int = 0  # number of all refused connections
    is_lost: bool = False  # the sandbox failed with it: the session continues in an empty one

    @property
    def is_ok(self) -> bool:
        """Whether the program exited with 0 within its limits."""
        return self.exit_code == 0 and self.limit is None

    @property
    def output(self) -> str:
        """Standard output and standard error as text; invalid UTF-8 is replaced."""
        return (self.stdout + self.stderr).decode("utf-8", "replace")


def read_result(answer: Mapping[str, Any], data: bytes, enforced: LimitName | None) -> Result:  # Any: JSON
    """Return the result in a supervisor's answer.

    `enforced`: the limit that the sandbox enforced.
    """
    line, out = int(answer["line"]), int(answer["out"])
    has_failed = answer["ended"] and answer["exit"] != 0
    return Result(
        exit_code=answer["exit"],
        signal=answer["signal"],
        stdout=data[line : line + out],
        stderr=data[line + out :],
        wall_s=float(answer["wall_s"]),
        waited_s=float(answer["waited_s"]),
        cpu_s=float(answer["cpu_s"]),
        peak_memory_bytes=int(answer["peak_memory"]),
        limit=enforced if enforced is not None and has_failed else answer["limit"],
        refused=tuple(map(str, answer.get("refused", ()))),  # present if the sandbox has a network
        num_refused=int(answer.get("num_refused", 0)),
        line=None if answer["ended"] else _text(data[:line]),
    )


def not_run(error: str) -> Result:
    """Return the result of a program that the supervisor could not start or reach.

    Programs cause this themselves: they use up processes or descriptors, or the supervisor's own limits.

    Raises:
        CairnError: the caller's mistake: no program is open.
    """
    if error == _NOT_OPEN:
        raise CairnError(error)
    return _without_program(f"the program could not start: {error}", exit_code=126)  # as in shells: found, not started


def lost(reason: str, limit: LimitName | None) -> Result:
    """Return the result of a program that broke its sandbox.

    `limit`: the limit that the sandbox exceeded.
    """
    return _without_program(reason, signal=9, limit=limit, is_lost=True)


def _without_program(
    reason: str,
    *,
    exit_code: int | None = None,
    signal: int | None = None,
    limit: LimitName | None = None,
    is_lost: bool = False,
) -> Result:
    return Result(
        exit_code=exit_code,
        signal=signal,
        stdout=b"",
        stderr=f"{reason}\n".encode("utf-8", "replace"),
        wall_s=0.0,
        waited_s=0.0,
        cpu_s=0.0,
        peak_memory_bytes=0,
        limit=limit,
        is_lost=is_lost,
    )


def _text(line: bytes) -> str:
    """Return a line of the open program, which may write any bytes; invalid UTF-8 is replaced."""
    try:
        return line.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return line.decode("utf-8", "replace")


Kind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of the work folder."""

    path: str
    kind: Kind
    size: int  # bytes; 0 unless a file
    mode: int  # permission bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The contents of a work folder; can be restored in any session."""

    entries: tuple[tuple[str, str, int, int, str], ...]  # path, kind, size, mode, target of a link
    data: bytes  # contents of the files, concatenated
