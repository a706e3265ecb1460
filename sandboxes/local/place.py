"""A sandbox process on this machine, whose standard streams are a socket to its supervisor."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import socket
import subprocess
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cairn.core.errors import SandboxFailure
from cairn.sandboxes import supervisor_source, wire
from cairn.sandboxes.base import Limits
from cairn.sandboxes.local.cgroups import ControlGroup
from cairn.sandboxes.local.users import SessionUser
from cairn.sandboxes.records import LimitName
from cairn.sandboxes.sandbox_process import SandboxLost

PATH = "/usr/local/bin:/usr/bin:/bin"

_START_S = 20.0
_END_S = 2.0


@functools.cache
def _starter(pid: int) -> ThreadPoolExecutor:
    """Return this process's thread that starts all sandboxes.

    The kernel ends a sandbox with the thread that started it, so the thread must last as long as the process.
    """
    return ThreadPoolExecutor(1, thread_name_prefix=f"places-of-{pid}")


_PLACES: weakref.WeakSet[LocalPlace] = weakref.WeakSet()


def _close_inherited_sockets() -> None:
    """In a fork, close its copies of the sockets.

    A supervisor ends once all copies of its socket's other end are closed.
    """
    for place in list(_PLACES):
        place._socket.close()


os.register_at_fork(after_in_child=_close_inherited_sockets)


class LocalPlace:
    """A process with a supervisor in it, in a control group if one can be created."""

    def __init__(
        self,
        command: list[str],
        *,
        home: str,
        env: Mapping[str, str] | None = None,
        limits: Limits,
        user: SessionUser | None,
        has_own_user: bool,
        hello: Mapping[str, Any],  # Any: JSON, for the supervisor besides limits
        confinement: bytes = b"",
        pass_fds: Sequence[int] = (),
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the process and wait for the supervisor's answer.

        `user`: the process's user; None: the user of this process. `on_close`: called when it has ended, or cannot
        start.

        Raises:
            SandboxFailure: it did not start; the message has its output.
        """
        number = None if user is None else user.number
        self.home, self.env, self._on_close = home, env or {}, on_close
        self._socket, theirs = socket.socketpair()
        _PLACES.add(self)
        self._group = ControlGroup(limits)

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.PIPE,
                env={"PATH": PATH, "PYTHONHASHSEED": "0"},  # of the launcher; programs can read it in /proc
                cwd="/",
                user=number,
                group=number,
                extra_groups=None if user is None else [],
                pass_fds=pass_fds,
                start_new_session=True,
            )

        try:
            self._process = _starter(os.getpid()).submit(start).result()
        except OSError as error:
            self._socket.close()
            self._group.close()
            on_close()
            raise SandboxFailure(f"Cannot start {command[0]}: {error}") from error
        finally:
            theirs.close()
        try:
            self._greet(limits, hello, confinement, has_own_user)
            for pid in _family(self._process.pid):  # before any program runs
                self._group.add(pid)
        except (SandboxFailure, OSError) as error:
            output = self._error_output()
            self.close()
            raise SandboxFailure(f"A sandbox did not start: {output or error}") from error
        except BaseException:  # an interrupt: the process must not be left behind; raised again
            self.close()
            raise

    def request(self, message: Mapping[str, Any], blob: bytes, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Send a request and return the answer; see `SandboxProcess`."""
        try:
            self._socket.settimeout(timeout_s)
            self._socket.sendall(wire.packed(message, blob))
            return wire.received(self._read, timeout_s)
        except (OSError, ValueError, SandboxFailure) as error:
            raise SandboxLost(f"A sandbox did not answer within {timeout_s:g} s or is gone: {error}") from error

    def listener(self, port: int) -> socket.socket:
        """Return a socket that listens in the sandbox's own network.

        The host accepts its connections.

        Raises:
            SandboxFailure: the supervisor cannot listen there.
        """
        try:
            self._socket.settimeout(_START_S)
            self._socket.sendall(wire.packed({"do": "listen", "port": port, "path": ""}, b""))
            _, fds, _, _ = socket.recv_fds(self._socket, 1, 1, socket.MSG_CMSG_CLOEXEC)
            if not fds:
                raise SandboxFailure(f"A sandbox's supervisor cannot listen on port {port} of its own network")
            listener = socket.socket(fileno=fds[0])
            wire.received(self._read, _START_S)
        except OSError as error:
            raise SandboxFailure(f"A sandbox's supervisor hands out no socket: {error}") from error
        return listener

    def limit_hit(self) -> LimitName | None:
        """Return the limit that the control group enforced since the last call."""
        return self._group.limit_hit()

    def close(self) -> None:
        """End the supervisor, and with it all programs."""
        self._socket.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        self._group.close()
        self._on_close()

    def _kill(self) -> None:
        """Kill the launcher and its process group.

        A child of bubblewrap waits for its parent's signal before it requests to die with it, so it would wait forever.
        """
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)  # it leads a session, and so a process group

    def _greet(self, limits: Limits, hello: Mapping[str, Any], confinement: bytes, has_own_user: bool) -> None:
        own = {
            **limits.model_dump(include={"cpu_s", "memory_bytes", "processes", "file_bytes", "disk_bytes", "files"}),
            **limits.model_dump(include={"open_files", "output_bytes"}),
            "has_own_user": has_own_user,
            "watches_memory": not self._group.limits_memory,
            "watches_processes": not self._group.limits_processes,
            "own_processes": limits.processes + 1 if has_own_user and not self._group.limits_processes else None,
        }
        self._socket.settimeout(_START_S)
        self._socket.sendall(supervisor_source.modules())
        message = {"do": "hello", "home": self.home, "roots": [], "confinement": None, **hello}
        message["limits"] = {**own, **hello.get("limits", {})}
        answer, _ = self.request(message, confinement, _START_S)
        if "error" in answer:
            raise SandboxFailure(str(answer["error"]))

    def _read(self, count: int, timeout_s: float) -> bytes:
        until, parts = time.monotonic() + timeout_s, bytearray()
        while len(parts) < count:
            self._socket.settimeout(max(1e-3, until - time.monotonic()))
            part = self._socket.recv(min(count - len(parts), 1 << 20))
            if not part:
                raise OSError("it has ended")
            parts += part
        return bytes(parts)

    def _error_output(self) -> str:
        """Return the launcher's error output."""
        self._kill()
        with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):  # a child may hold the pipe
            _, errors = self._process.communicate(timeout=_END_S)
            return (errors or b"")[-400:].decode("utf-8", "replace").strip()
        return ""


def _family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    with contextlib.suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *(member for child in children for member in _family(int(child)))]
    return []
