"""One program in a sandbox: its process, its pipes, and its input and output.

A program is a command, or Python source; source runs in a fork of this process, which saves the start of an interpreter
and shares nothing else with it. A program that stays open communicates over file descriptor 3, line by line.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time

import confine
import process_limits
import source
import watch

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PART = 1 << 16
_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE)


class Program:
    """A program that has started, and is stopped before its first instruction until SIGCONT."""

    def __init__(
        self,
        *,
        argv: list[str] | None = None,
        code: str | None = None,
        env: dict[str, str],
        home: str,
        limits: dict[str, Any],
        rules: confine.Rules | None,
        has_stdin: bool = False,
        talks: bool = False,
    ) -> None:
        """Start it: `argv`, or else `code`."""
        self.out = {"stdout": bytearray(), "stderr": bytearray()}
        self.lines = bytearray()  # received over descriptor 3 and not yet returned
        self.status: int | None = None  # as returned by wait; None: it runs
        self.peak = 0  # bytes of its largest process, once it has ended
        self.most = int(limits["output_bytes"])
        out, err = os.pipe(), os.pipe()
        into = os.pipe() if has_stdin else (os.open("/dev/null", os.O_RDONLY), None)
        ours, theirs = socket.socketpair() if talks else (None, None)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                kept = [into[0], out[1], err[1], *([theirs.fileno()] if theirs is not None else [])]
                _become(argv, code, env, kept, home, limits, rules)
            except BaseException as error:  # the child must not continue as a second supervisor
                os.write(2, f"the program could not start: {error}\n".encode())
            finally:
                os._exit(126)
        for fd in (into[0], out[1], err[1]):
            os.close(fd)
        if theirs is not None:
            theirs.close()
        self.handle = os.pidfd_open(self.pid)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.control, self.stdin = ours, into[1]
        self.pipes = {out[0]: "stdout", err[0]: "stderr"}
        self.poll = select.poll()
        for fd in [*self.pipes, self.handle, *([ours.fileno()] if ours is not None else [])]:
            self.poll.register(fd, select.POLLIN)

    @property
    def has_line(self) -> bool:
        """Whether a complete line has been received."""
        return b"\n" in self.lines

    @property
    def has_ended(self) -> bool:
        """Whether its process has ended."""
        return self.status is not None

    def pump(self, payload: bytearray, counted: watch.Watch, is_done: Callable[[], bool]) -> str | None:
        """Transfer data until `is_done`; return the limit that was reached before, if any.

        If `is_done` holds after a timeout was detected, the program was in time: this process had no processor.
        """
        self._listen(bool(payload))
        is_late = False
        while not is_done():
            if is_late:
                return "wall"
            if time.monotonic() >= min(counted.until, counted.look_at):
                limit: str | None = counted.look()
                is_late = limit == "wall"
                if limit is not None and not is_late:
                    return limit
            pause = 0.0 if is_late else min(counted.until, counted.look_at) - time.monotonic()
            for fd, _ in self.poll.poll(max(0.0, pause) * 1000 + 0.5):
                self._carry(fd, payload)
            if any(len(data) > self.most for data in (*self.out.values(), self.lines)):
                return "output"
        return None

    def drain(self) -> None:
        """Read all data that is in the pipes now."""
        for fd, name in self.pipes.items():
            os.set_blocking(fd, False)
            try:
                while len(self.out[name]) <= self.most:
                    data = os.read(fd, _PART)
                    if not data:
                        break
                    self.out[name] += data
            except BlockingIOError:
                pass  # the pipe is empty

    def printed(self) -> tuple[bytes, bytes]:
        """Return the output up to its limit, and clear it."""
        found = bytes(self.out["stdout"][: self.most]), bytes(self.out["stderr"][: self.most])
        self.out = {"stdout": bytearray(), "stderr": bytearray()}
        return found

    def end(self) -> None:
        """Kill and reap its process, if it runs."""
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self._reap()

    def close(self) -> None:
        """Close all descriptors."""
        for fd in [*self.pipes, self.handle, *([self.stdin] if self.stdin is not None else [])]:
            os.close(fd)
        if self.control is not None:
            self.control.close()

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _reap(self) -> None:
        _, self.status, usage = os.wait4(self.pid, 0)
        self.peak = usage.ru_maxrss * 1024

    def _listen(self, has_more: bool) -> None:
        """Register the descriptors for input with the poll."""
        if self.control is not None:
            self.poll.register(self.control.fileno(), select.POLLIN | (select.POLLOUT if has_more else 0))
        elif self.stdin is not None:
            self.poll.register(self.stdin, select.POLLOUT)

    def _carry(self, fd: int, payload: bytearray) -> None:
        if fd == self.handle:
            self._reap()
            self.poll.unregister(fd)
        elif fd in self.pipes:
            data = os.read(fd, _PART)
            self.out[self.pipes[fd]] += data
            if not data:
                self.poll.unregister(fd)
        elif self.control is not None:
            self._send(self.control, payload)
            self._hear(self.control)
        else:
            self._feed(fd, payload)

    def _send(self, control: socket.socket, payload: bytearray) -> None:
        if not payload:
            return
        try:
            del payload[: control.send(payload[:_PART], socket.MSG_DONTWAIT)]
        except BlockingIOError:
            return
        except OSError:
            payload.clear()  # its end is closed, or the process has ended
        if not payload:
            self.poll.modify(control.fileno(), select.POLLIN)

    def _hear(self, control: socket.socket) -> None:
        try:
            data = control.recv(_PART, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.lines += data
        if not data:
            self.poll.unregister(control.fileno())

    def _feed(self, fd: int, payload: bytearray) -> None:
        try:
            del payload[: os.write(fd, payload[:4096])]  # a pipe that polls as writable accepts this many bytes
        except BrokenPipeError:
            payload.clear()
        if not payload:
            self.poll.unregister(fd)
            os.close(fd)
            self.stdin = None


def _become(
    argv: list[str] | None,
    code: str | None,
    env: dict[str, str],
    kept: list[int],
    home: str,
    limits: dict[str, Any],
    rules: confine.Rules | None,
) -> None:
    """Replace the new process by the program, stopped before its first instruction.

    `kept`: the descriptors that become its descriptors 0, 1, 2 and optionally 3.
    """
    os.setsid()
    above = [os.dup2(fd, 200 + i) for i, fd in enumerate(kept)]
    for i, fd in enumerate(above):
        os.dup2(fd, i, inheritable=True)
    os.closerange(len(above), 4096)
    os.chdir(home)
    for number in (*_HANDLED, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    process_limits.restrict(limits, is_lasting=len(kept) > 3)
    confine.uncover()
    if rules is not None:
        confine.enter(rules)
    os.kill(os.getpid(), signal.SIGSTOP)
    if argv is None:
        source.run(code or "", env)
        return
    try:
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        os.write(2, f"{argv[0]}: {os.strerror(error.errno or 0)}\n".encode())
        os._exit(127)
