"""A Python interpreter that keeps its state between cells, and may call host functions.

It is the session's open program. A cell that takes too long is interrupted and keeps its state; if that does not help
it is killed, and the next cell gets a new interpreter. The time that the host takes to answer calls, and time without a
free processor, do not count. A cell that exceeds its time or output limit between two calls is killed.

An interpreter's messages are as untrusted as the code in it: they are shown to the author of the code and decide
nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cairn.sandboxes.base import FileRefused, Session
from cairn.sandboxes.records import LimitName, Result
from cairn.sandboxes.supervisor_source import INSIDE

OnCall = Callable[[str, Mapping[str, Any]], object]  # Any: JSON


class CallRefused(Exception):  # noqa: N818  (an answer to the program)
    """An error that a host function returns to the program instead of a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The outcome of a cell."""

    stdout: bytes
    stderr: bytes
    error: str | None  # the exception in one line; None: no error
    limit: LimitName | None  # the limit that it exceeded
    is_fresh: bool  # a new interpreter was started for it: earlier state was lost

    @property
    def is_ok(self) -> bool:
        """Whether it ran to its end within its limits."""
        return self.error is None and self.limit is None


class Interpreter:
    """Runs cells in a session."""

    def __init__(self, session: Session, prelude: str = "", on_call: OnCall | None = None) -> None:
        """Set up without starting an interpreter.

        `prelude`: a cell that is run first in each new interpreter; `on_call`: handles calls.
        """
        self._session, self._prelude, self._on_call = session, prelude, on_call
        self._is_open = False

    def run(self, source: str, wall_s: float | None = None) -> Cell:
        """Run a cell."""
        is_fresh = not self._is_open
        if is_fresh:
            try:
                self._session.start_program((INSIDE / "repl.py").read_text())
            except FileRefused as refused:  # programs of the session have used up its processes or descriptors
                return Cell(
                    stdout=b"", stderr=b"", error=f"No interpreter can start: {refused}", limit=None, is_fresh=True
                )
            self._is_open = True
            if self._prelude:
                self._cell(self._prelude, None, is_fresh=True)
        return self._cell(source, wall_s, is_fresh)

    def forget(self) -> None:
        """End the interpreter; the next cell starts a new one."""
        if self._is_open:
            self._session.stop_program()
            self._is_open = False

    def _cell(self, source: str, wall_s: float | None, is_fresh: bool) -> Cell:
        most = min(wall_s or self._session.limits.wall_s, self._session.limits.wall_s)
        until = time.monotonic() + most
        message: dict[str, Any] = {"source": source}
        results: list[Result] = []
        room = self._session.limits.output_bytes
        while True:
            results.append(self._session.send_line(json.dumps(message), wall_s=max(1e-3, until - time.monotonic())))
            until += results[-1].waited_s
            reply = _object(results[-1].line)
            if "call" not in reply or results[-1].limit is not None:
                return self._ended(results, reply, is_fresh)
            room -= len(results[-1].stdout) + len(results[-1].stderr)
            if room < 0:
                return self._cut(results, "output", is_fresh)
            asked = time.monotonic()
            if asked >= until:  # each of its turns may be too short to be interrupted
                return self._cut(results, "wall", is_fresh)
            message = self._answer(reply)
            until += time.monotonic() - asked

    def _ended(self, results: list[Result], reply: Mapping[str, Any], is_fresh: bool) -> Cell:
        last = results[-1]
        if last.line is None:
            self._is_open = False
        elif "done" not in reply:  # the cell has written to the connection
            self.forget()
        error = reply.get("done") if last.line is not None else _how_it_ended(last)
        return Cell(
            stdout=b"".join(result.stdout for result in results),
            stderr=b"".join(result.stderr for result in results),
            error=None if error is None else str(error),
            limit=last.limit,
            is_fresh=is_fresh,
        )

    def _cut(self, results: list[Result], limit: LimitName, is_fresh: bool) -> Cell:
        """End the interpreter after its cell exceeded a limit of the whole cell between two calls."""
        self.forget()
        return Cell(
            stdout=b"".join(result.stdout for result in results),
            stderr=b"".join(result.stderr for result in results),
            error=f"The interpreter was ended at its limit: {limit}",
            limit=limit,
            is_fresh=is_fresh,
        )

    def _answer(self, reply: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON
        name, arguments = reply["call"], reply.get("arguments")
        if self._on_call is None or not isinstance(name, str) or not isinstance(arguments, dict):
            return {"error": "there is nobody to call"}
        try:
            return {"value": self._on_call(name, arguments)}
        except CallRefused as refused:
            return {"error": str(refused)}


def _object(line: str | None) -> dict[str, Any]:  # Any: JSON
    """Return the JSON object in a line, or an empty dict if it has none."""
    try:
        found = json.loads(line or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _how_it_ended(result: Result) -> str:
    if result.limit is not None:
        return f"The interpreter was ended at its limit: {result.limit}"
    how = f"by signal {result.signal}" if result.exit_code is None else f"with status {result.exit_code}"
    return f"The interpreter ended {how}"
