"""A Python interpreter in a session that keeps its state between cells, and may call functions of the host.

It is the session's open program. A cell that takes too long is interrupted and keeps what it has computed; where that
does not help it is killed, and the next cell finds a new interpreter. Time that the host takes to answer calls, and in
which no processor was free, does not count. A cell that passes its time or output limit between two calls is killed.
What an interpreter says is as untrusted as the code in it: it is shown to the author of the code and decides nothing.
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
    """What a function of the host tells the program instead of a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What came of a cell."""

    stdout: bytes
    stderr: bytes
    error: str | None  # what it raised, in one line; None: nothing
    limit: LimitName | None  # that it ran into
    is_fresh: bool  # the interpreter had started anew before it: earlier state was gone

    @property
    def is_ok(self) -> bool:
        """Whether it ran to its end within its limits."""
        return self.error is None and self.limit is None


class Interpreter:
    """Runs cells in a session."""

    def __init__(self, session: Session, prelude: str = "", on_call: OnCall | None = None) -> None:
        """Begin nothing yet; `prelude`: a cell that comes first in each new interpreter; `on_call`: answers calls."""
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
        """End the interpreter; the next cell finds a new one."""
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
            said = _object(results[-1].line)
            if "call" not in said or results[-1].limit is not None:
                return self._ended(results, said, is_fresh)
            room -= len(results[-1].stdout) + len(results[-1].stderr)
            if room < 0:
                return self._cut(results, "output", is_fresh)
            asked = time.monotonic()
            if asked >= until:  # each of its turns may be too short to be interrupted
                return self._cut(results, "wall", is_fresh)
            message = self._answer(said)
            until += time.monotonic() - asked

    def _ended(self, results: list[Result], said: Mapping[str, Any], is_fresh: bool) -> Cell:
        last = results[-1]
        if last.line is None:
            self._is_open = False
        elif "done" not in said:  # it writes what it likes into the conversation
            self.forget()
        error = said.get("done") if last.line is not None else _how_it_ended(last)
        return Cell(
            stdout=b"".join(result.stdout for result in results),
            stderr=b"".join(result.stderr for result in results),
            error=None if error is None else str(error),
            limit=last.limit,
            is_fresh=is_fresh,
        )

    def _cut(self, results: list[Result], limit: LimitName, is_fresh: bool) -> Cell:
        """End the interpreter, whose cell has passed a limit of the whole cell between two calls."""
        self.forget()
        return Cell(
            stdout=b"".join(result.stdout for result in results),
            stderr=b"".join(result.stderr for result in results),
            error=f"The interpreter was ended at its limit: {limit}",
            limit=limit,
            is_fresh=is_fresh,
        )

    def _answer(self, said: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON
        name, arguments = said["call"], said.get("arguments")
        if self._on_call is None or not isinstance(name, str) or not isinstance(arguments, dict):
            return {"error": "there is nobody to call"}
        try:
            return {"value": self._on_call(name, arguments)}
        except CallRefused as refused:
            return {"error": str(refused)}


def _object(line: str | None) -> dict[str, Any]:  # Any: JSON
    """Return the JSON object in a line; an empty one if there is none."""
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
