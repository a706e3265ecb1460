"""All programs of a sandbox: each is watched while it runs, and leaves nothing running.

One program may stay open beside the others and keep its state between the turns of an episode. When another has ended,
everything but this process and the open program is stopped, so that nothing can multiply meanwhile, and killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time

import confine
import programs
import watch

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any

_PATIENCE_S = 0.5  # what an interrupted program may take before it is killed


class ProcessTable:
    """Runs programs, one at a time and one beside them."""

    def __init__(
        self, home: str, roots: list[str], rules: confine.Rules | None, is_first: bool, limits: dict[str, Any]
    ) -> None:
        """`roots`: all folders that programs can write to; `is_first`: whether this is process 1 of its namespace."""
        self.home, self.rules, self.limits, self.is_first = home, rules, limits, is_first
        self.watch = watch.Watch(roots, limits, is_first)
        self.opened: programs.Program | None = None
        self.end_between: tuple[dict[str, Any], bytes] | None = None  # of the open program, killed between its turns

    def run(self, stdin: bytes, wall_s: float, **what: Any) -> tuple[dict[str, Any], bytes]:
        """Run a program to its end, or to a limit."""
        began = time.monotonic()
        self.watch.begin(wall_s)
        program = self._start(has_stdin=bool(stdin), **what)
        limit = program.pump(bytearray(stdin), self.watch, lambda: program.has_ended)
        return self._ended(program, began, limit)

    def open(self, **what: Any) -> None:
        """Start the program that stays open, in place of the one that did."""
        self.shut()
        self.watch.begin(0.0)
        self.opened = self._start(talks=True, **what)

    def talk(self, said: bytes, wall_s: float) -> tuple[dict[str, Any], bytes]:
        """Say something to the open program; return what it printed, and its next line or its end."""
        if self.end_between is not None:
            ended, self.end_between = self.end_between, None
            return ended
        program = self.opened
        if program is None:
            return {"error": "no program is open"}, b""
        began = time.monotonic()
        self.watch.begin(wall_s, program.pid)

        def has_answered() -> bool:
            return bool(program.has_line or program.has_ended)

        limit = program.pump(bytearray(said), self.watch, has_answered)
        if limit == "wall":
            os.kill(program.pid, signal.SIGINT)  # it may keep its state
            self.watch.allow(_PATIENCE_S, self.watch.cpu_s())
            limit = program.pump(bytearray(), self.watch, has_answered) or "wall"
        if not program.has_line or limit not in (None, "wall"):
            self.opened = None
            return self._ended(program, began, limit)
        line, _, rest = bytes(program.lines).partition(b"\n")
        program.lines = bytearray(rest)
        program.drain()  # what it printed before it answered
        out, err = program.printed()
        return {**self._measured(None, began, limit), "line": len(line), "out": len(out)}, line + out + err

    def look_between(self) -> None:
        """Kill the open program if it has passed a limit since its last turn; its next turn reports the limit."""
        program = self.opened
        limit = None if program is None else self.watch.look_between(program.pid)
        if program is not None and limit is not None:
            self.opened = None
            self.end_between = self._ended(program, time.monotonic(), limit)

    def shut(self) -> None:
        """End the open program."""
        self.end_between = None
        if self.opened is not None:
            program, self.opened = self.opened, None
            self._ended(program, time.monotonic(), None)

    def sweep(self) -> None:
        """Kill every process here but this one and the open program, and wait until they are gone."""
        kept = None if self.opened is None else self.opened.pid
        while any(pid != kept for pid in self.watch.pids()):
            self._kill(kept)
            time.sleep(1e-4)
        for pid in self.watch.dead():
            if pid != kept:  # its end is noticed where it is talked to
                with contextlib.suppress(ChildProcessError):  # the open program's own
                    os.waitpid(pid, os.WNOHANG)

    def _start(self, **what: Any) -> programs.Program:
        return programs.Program(home=self.home, limits=self.limits, rules=self.rules, **what)

    def _ended(self, program: programs.Program, began: float, limit: str | None) -> tuple[dict[str, Any], bytes]:
        """Kill what is left of a program and return what came of it."""
        limit = limit or self.watch.passed(self.watch.pids(), is_thorough=True)
        if limit == "wall" and self.watch.is_crowded:
            limit = "processes"  # what it spent its time with
        program.end()
        self.sweep()
        program.drain()
        program.close()
        out, err = program.printed()
        return {**self._measured(program, began, limit), "line": 0, "out": len(out)}, out + err

    def _measured(self, program: programs.Program | None, began: float, limit: str | None) -> dict[str, Any]:
        """Return what is told of a program that has ended, or of a turn of one that goes on (None)."""
        status = None if program is None else program.status
        if limit is None and status:
            limit = self.watch.reached(status)
        return {
            "ended": program is not None,
            "exit": None if status is None or os.WIFSIGNALED(status) else os.WEXITSTATUS(status),
            "signal": os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None,
            "wall_s": time.monotonic() - began,
            "waited_s": self.watch.waited_s,
            "cpu_s": self.watch.cpu_s(),
            "peak_memory": max(self.watch.peak, 0 if program is None else program.peak),
            "limit": limit,
        }

    def _kill(self, kept: int | None) -> None:
        """Stop all first: what is stopped starts nothing."""
        if self.is_first:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL if kept is None else signal.SIGSTOP)
        left = [pid for pid in self.watch.pids() if pid != kept]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        if kept is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(kept, signal.SIGCONT)
