"""The first process in a sandbox: starts programs, enforces limits, transfers files.

It reads requests from the host and answers them one by one; a message is two lengths (of a JSON object and of bytes
that belong to it), the object and the bytes. Programs run as the same user as this process, but cannot reach it: it
cannot be traced or read (it is not dumpable), as process 1 it cannot be signalled, and they inherit none of its
descriptors. Their output therefore cannot be mistaken for its answers.

It runs in environments without Cairn, under any Python from 3.9 on, so it imports nothing of Cairn. It does not isolate
anything: the launcher does, or, where the launcher cannot, `confine`, which each program enters.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import site
import socket
import struct
import sys
import traceback

import confine
import process_table
import files

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any

    Answer = tuple[dict[str, Any], bytes]

_HEADER = struct.Struct("!II")
_PR_SET_CHILD_SUBREAPER = 36
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE)


class Supervisor:
    """Answers requests; see the methods named `do_...`."""

    def __init__(self, reader: int, writer: int) -> None:
        self.reader, self.writer = reader, writer
        self.roots: list[str] = []
        self.processes: process_table.ProcessTable

    def serve(self) -> None:
        """Answer requests until the host is gone."""
        while True:
            sizes = _HEADER.unpack(self._receive(_HEADER.size))
            request = json.loads(self._receive(sizes[0]))
            blob = self._receive(sizes[1])
            own = {"request_id": request.pop("request_id")} if "request_id" in request else {}
            try:
                answer, data = getattr(self, "do_" + request.pop("do"))(blob=blob, **request)
            except (files.Refused, OSError, ImportError) as error:
                answer, data = {"error": str(error)}, b""
            except Exception:  # a bug of this program: the host ends the sandbox and reports it
                answer, data = {"broken": traceback.format_exc()[-2000:]}, b""
            body = json.dumps({**answer, **own}).encode()
            self._send(_HEADER.pack(len(body), len(data)) + body + data)

    # -- requests ----------------------------------------------------------------------------------------------------

    def do_hello(
        self, blob: bytes, home: str, roots: list[str], confinement: dict[str, Any] | None, is_first: bool, limits: Any
    ) -> Answer:
        """Store the settings of this sandbox.

        `roots`: all folders but home that programs can write to.
        """
        self.roots = [home, *roots]
        rules = None if confinement is None else confine.Rules(filter=blob, **confinement)
        self.processes = process_table.ProcessTable(
            home=home, roots=self.roots, rules=rules, is_first=is_first, limits=limits
        )
        return {"python": sys.version.split()[0]}, b""

    def do_warm(self, blob: bytes, modules: list[str]) -> Answer:
        """Import modules that programs are likely to use: their forks inherit them."""
        for name in modules:
            importlib.import_module(name)
        return {}, b""

    def do_listen(self, blob: bytes, port: int, path: str) -> Answer:
        """Send the host a socket that listens in this sandbox's own network, with one byte.

        `path`: a socket file that the host listens at; "": the socket is sent before the answer.
        """
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            listener.listen()
            with socket.socket(socket.AF_UNIX) if path else socket.socket(fileno=os.dup(self.writer)) as line:
                if path:
                    line.connect(path)
                socket.send_fds(line, [b"."], [listener.fileno()])
        return {}, b""

    def do_run(self, blob: bytes, **what: Any) -> Answer:
        """Run a program to its end."""
        answer: Answer = self.processes.run(stdin=blob, **what)
        return answer

    def do_open(self, blob: bytes, **what: Any) -> Answer:
        """Start the program that stays open."""
        self.processes.open(**what)
        return {}, b""

    def do_talk(self, blob: bytes, wall_s: float) -> Answer:
        """Send a line to the open program."""
        answer: Answer = self.processes.talk(blob, wall_s)
        return answer

    def do_shut(self, blob: bytes) -> Answer:
        """End the open program."""
        self.processes.shut()
        return {}, b""

    def do_write(self, blob: bytes, path: str, mode: int) -> Answer:
        """Write a file."""
        files.write(self.roots[0], path, blob, mode)
        return {}, b""

    def do_read(self, blob: bytes, path: str, max_bytes: int) -> Answer:
        """Read a file."""
        return {}, files.read(self.roots[0], path, max_bytes)

    def do_remove(self, blob: bytes, path: str) -> Answer:
        """Remove a file or folder."""
        files.remove(self.roots[0], path)
        return {}, b""

    def do_list(self, blob: bytes, max_files: int) -> Answer:
        """List all files."""
        return {"entries": [entry[:4] for entry in files.entries(self.roots[0], max_files)]}, b""

    def do_digest(self, blob: bytes, max_files: int, max_bytes: int) -> Answer:
        """Hash all files, including temporary ones."""
        used = [self.roots[0], *(root for root in self.roots[1:] if os.listdir(root))]
        return {"digest": "-".join(files.digest(root, max_files, max_bytes) for root in used)}, b""

    def do_snapshot(self, blob: bytes, max_files: int, max_bytes: int) -> Answer:
        """Return all files."""
        answer: Answer = files.pack(self.roots[0], max_files, max_bytes)
        return answer

    def do_restore(self, blob: bytes, entries: list[tuple[str, str, int, int, str]]) -> Answer:
        """Put all files back."""
        files.wipe(self.roots[0])
        files.unpack(self.roots[0], entries, blob)
        return {}, b""

    def do_reset(self, blob: bytes) -> Answer:
        """End every program and empty every folder."""
        self.processes.shut()
        self.processes.sweep()
        for root in self.roots:
            files.wipe(root)
        return {"left": [name for root in self.roots for name in os.listdir(root)]}, b""

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _receive(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = os.read(self.reader, min(count - len(parts), 1 << 20))
            if not part:
                self._end()
            parts += part
        return bytes(parts)

    def _send(self, message: bytes) -> None:
        view = memoryview(message)
        while view:
            view = view[os.write(self.writer, view) :]

    def _end(self) -> None:
        """End this process after the host is gone.

        As process 1, its end ends the sandbox; otherwise all programs are killed first.
        """
        if self.roots and not self.processes.is_first:
            self.do_reset(b"")
        os._exit(0)


def main() -> None:
    """Hide the host's descriptors from programs, and serve."""
    reader, writer = os.dup(0), os.dup(1)
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.close(nothing)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(confine.PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o022)
    site.main()  # installed packages, `exit` and the like, which programs expect
    Supervisor(reader, writer).serve()
