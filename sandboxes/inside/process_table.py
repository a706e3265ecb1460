"""All programs of a sandbox: each is watched while it runs, and all its processes are ended.

One program may stay open beside the others and keep its state between the turns of an episode. It runs only in its
turns: between them it is stopped, with all processes that it started, so that it uses and changes nothing. When another
program has ended, everything but this process and the open program is stopped, so that no process can fork meanwhile,
and killed.
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

_PATIENCE_S = 0.5  # time for an interrupted program before it is killed


class ProcessTable:
    """Runs one program at a time, beside one open program."""

    def __init__(
        self, home: str, roots: list[str], rules: confine.Rules | None, is_first: bool, limits: dict[str, Any]
    ) -> None:
        """Set up without a program.

        Args:
            home: the work folder.
            roots: all folders that programs can write to.
            rules: the confinement of each program; None: none.
            is_first: whether this is process 1 of its namespace.
            limits: resource limits by name.
        """
        self.home, self.rules, self.limits, self.is_first = home, rules, limits, is_first
        self.is_alone = is_first or limits["has_own_user"]  # all other processes that it may signal are programs
        self.watch = watch.Watch(roots, limits, is_first)
        self.opened: programs.Program | None = None

    def run(self, stdin: bytes, wall_s: float, **what: Any) -> tuple[dict[str, Any], bytes]:
        """Run a program to its end, or to a limit."""
        program = self._start(has_stdin=bool(stdin), **what)
        began = time.monotonic()
        self.watch.begin(wall_s)
        _send(program.pid, signal.SIGCONT)
        limit = program.pump(bytearray(stdin), self.watch, lambda: program.has_ended)
        return self._ended(program, began, limit)

    def open(self, **what: Any) -> None:
        """Start the program that stays open and end the previous one; it runs from its first turn."""
        self.shut()
        self.opened = self._start(talks=True, **what)

    def talk(self, payload: bytes, wall_s: float) -> tuple[dict[str, Any], bytes]:
        """Send a line to the open program; return its output, and its next line or its end."""
        program = self.opened
        if program is None:
            return {"error": "no program is open"}, b""
        began = time.monotonic()
        self.watch.begin(wall_s, program.pid)
        self._resume()

        def has_answered() -> bool:
            return bool(program.has_line or program.has_ended)

        limit = program.pump(bytearray(payload), self.watch, has_answered)
        if limit == "wall":
            os.kill(program.pid, signal.SIGINT)  # interrupted, so that it may keep its state
            self.watch.allow(_PATIENCE_S, self.watch.cpu_s())
            limit = program.pump(bytearray(), self.watch, has_answered) or "wall"
        if not program.has_line or limit not in (None, "wall"):
            self.opened = None
            return self._ended(program, began, limit)
        self._stop()
        self.watch.pause()
        line, _, rest = bytes(program.lines).partition(b"\n")
        program.lines = bytearray(rest)
        program.drain()  # output from before the answer
        out, err = program.printed()
        return {**self._measured(None, began, limit), "line": len(line), "out": len(out)}, line + out + err

    def shut(self) -> None:
        """End the open program."""
        if self.opened is not None:
            program, self.opened = self.opened, None
            self._ended(program, time.monotonic(), None)

    def sweep(self) -> None:
        """Kill every process except this one and the open program, and wait until they are gone."""
        kept = None if self.opened is None else self.opened.pid
        while any(pid != kept for pid in self.watch.pids()):
            self._kill(kept)
            time.sleep(1e-4)
        for pid in self.watch.dead():
            if pid != kept:  # its end is detected in `talk`
                with contextlib.suppress(ChildProcessError):  # the open program's own child
                    os.waitpid(pid, os.WNOHANG)

    def _start(self, **what: Any) -> programs.Program:
        return programs.Program(home=self.home, limits=self.limits, rules=self.rules, **what)

    def _ended(self, program: programs.Program, began: float, limit: str | None) -> tuple[dict[str, Any], bytes]:
        """Kill the remaining processes of a program, and return its result.

        Stop the open program, if any.
        """
        limit = limit or self.watch.passed(self.watch.pids(), is_thorough=True)
        if limit == "wall" and self.watch.is_crowded:
            limit = "processes"  # the cause of the timeout
        program.end()
        self.sweep()
        if self.opened is not None:
            self._stop()  # another program may have resumed it
        program.drain()
        program.close()
        out, err = program.printed()
        return {**self._measured(program, began, limit), "line": 0, "out": len(out)}, out + err

    def _measured(self, program: programs.Program | None, began: float, limit: str | None) -> dict[str, Any]:
        """Return the measurements of an ended program, or of a turn of one that continues (None)."""
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
        """Kill all programs but the open one.

        All are stopped first, since a stopped process cannot fork.
        """
        self._stop()
        for pid in self.watch.pids():
            if pid != kept:
                _send(pid, signal.SIGKILL)

    def _stop(self) -> None:
        """Stop all programs."""
        if self.is_alone:
            _send(-1, signal.SIGSTOP)  # to all at once
            return
        stopped = set[int]()
        while new := set(self.watch.pids()) - stopped:  # a process that was not stopped yet may have started others
            for pid in new:
                _send(pid, signal.SIGSTOP)
            stopped |= new

    def _resume(self) -> None:
        """Resume all stopped programs."""
        for pid in [-1] if self.is_alone else self.watch.pids():
            _send(pid, signal.SIGCONT)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
