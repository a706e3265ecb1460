"""The sandbox contract: sessions for untrusted programs, with limits and files.

A sandbox kind starts sandbox processes. A `Session` has one, and talks to the supervisor that runs in it
(`inside/supervisor.py`). A program's errors, exceeded limits included, are a `Result`, and so is a sandbox that it
breaks: the session replaces it by an empty one. If the replacement fails, or no program had run, the machine failed:
the session raises `SandboxFailure` and must not be used again.

Paths are relative to the session's work folder; absolute paths and paths that lead out of it are refused.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from pydantic import Field

from cairn.core.config import Config
from cairn.core.errors import CairnError, ConfigError, SandboxFailure
from cairn.sandboxes.destinations import Destination
from cairn.sandboxes.inside.process_limits import SLOWEST
from cairn.sandboxes.records import Entry, LimitName, Result, Snapshot, lost, not_run, read_result
from cairn.sandboxes.sandbox_process import SandboxLost, SandboxProcess

_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",  # equal programs give equal outputs
}
_GRACE_S = 10.0  # beyond a program's time limit, after which the sandbox itself is considered broken
_CONTROL_S = 20.0  # for an empty program in a new sandbox
_FILES_S = 30.0  # for a request about files
_STARTS = frozenset({"run", "open"})  # requests that start a program


class Limits(Config):
    """Resource limits of the programs of a session."""

    wall_s: float = Field(
        10.0, gt=0, allow_inf_nan=False, description="Seconds of a run or a turn, beside waiting for a processor."
    )
    cpu_s: float = Field(10.0, gt=0, allow_inf_nan=False, description="CPU seconds of all its processes together.")
    memory_bytes: int = Field(512 << 20, ge=32 << 20, description="Memory of all processes and files in memory.")
    processes: int = Field(64, ge=2, description="Processes and threads at once.")
    cpus: float = Field(
        1.0, gt=0, allow_inf_nan=False, description="CPU seconds a second, where control groups can be written."
    )
    file_bytes: int = Field(32 << 20, ge=1 << 12, description="Size of one file.")
    disk_bytes: int = Field(
        64 << 20, ge=1 << 16, description="All that lies in the work folder; the same again in /tmp."
    )
    files: int = Field(10_000, ge=10, description="Files and folders in the work folder; the same again in /tmp.")
    open_files: int = Field(256, ge=16, description="Open descriptors of one process.")
    output_bytes: int = Field(
        1 << 20, ge=1 << 10, description="Bytes of standard output, and of standard error, a run."
    )


class FileRefused(CairnError):  # noqa: N818  (an expected outcome)
    """A file request that cannot be met; the text is for the caller."""


class _Replaced(Exception):  # noqa: N818  (an outcome)
    """A program broke the sandbox, and the session has a new one."""

    def __init__(self, limit: LimitName | None) -> None:
        self.limit = limit  # the limit that the sandbox exceeded; None: not known
        super().__init__("The sandbox failed because of a program in it, and an empty one has replaced it")


class Session:
    """One sandbox in which programs run; for one thread, and for the process that opened it."""

    def __init__(self, launch: Launcher, limits: Limits, kind: str) -> None:
        """Start the sandbox; `kind`: the name of the sandbox kind."""
        self._launch, self.limits, self.kind = launch, limits, kind
        self._place = launch(limits)
        self._has_run = False  # whether a program has run since the last reset
        self._lost_program = False  # whether the open program ended with its sandbox
        self._is_asking = False  # from a request until its answer
        self._request_id = 0  # of the last request; its answer repeats it
        self._is_closed = False
        self._owner = os.getpid()
        self.last_loss: str | None = None  # why the last sandbox that a program broke failed; not shown to programs

    @property
    def is_inherited(self) -> bool:
        """Whether a parent process opened it: both would read each other's answers."""
        return os.getpid() != self._owner

    @property
    def home(self) -> str:
        """The work folder's path, as seen by programs."""
        return self._place.home

    # -- programs ----------------------------------------------------------------------------------------------------

    def run(
        self,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        wall_s: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Run a command to its end; all processes that it started end with it.

        `wall_s`: less than the session's limit. `env`: added to PATH, HOME and others that every program gets.
        """
        return self._run({"argv": [str(part) for part in command]}, stdin, wall_s, env)

    def run_python(
        self,
        code: str,
        *,
        stdin: bytes = b"",
        wall_s: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Run Python source to its end, in a new fork of a warm interpreter."""
        return self._run({"code": code}, stdin, wall_s, env)

    def start_program(self, command: Sequence[str] | str, *, env: Mapping[str, str] | None = None) -> None:
        """Start the program that stays open: stopped outside its turns, lines on descriptor 3."""
        what = {"code": command} if isinstance(command, str) else {"argv": list(command)}
        self._ask("open", **what, env=_env(self._place, env))
        self._lost_program = False

    def send_line(self, line: str, *, wall_s: float | None = None) -> Result:
        """Send a line to the open program and return its answer; a timeout interrupts or kills it.

        Raises:
            CairnError: no program is open.
        """
        if self._lost_program:
            return lost("The open program ended with its sandbox", None)
        return self._answer("talk", line.encode("utf-8", "surrogatepass") + b"\n", wall_s)

    def stop_program(self) -> None:
        """End the open program."""
        self._ask("shut")

    def warm(self, modules: Sequence[str]) -> None:
        """Import standard library modules in advance, so that Python programs start with them.

        Raises:
            FileRefused: a module does not exist.
        """
        self._ask("warm", modules=list(modules))

    # -- files -------------------------------------------------------------------------------------------------------

    def write_file(self, path: str, data: bytes | str, mode: int = 0o644) -> None:
        """Create or replace a file, and create its folders.

        Raises:
            FileRefused: the path leads out of the work folder or through a link, or the disk limit is exceeded.
        """
        content = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        if len(content) > self.limits.file_bytes:
            raise FileRefused(f"{path}: {len(content)} bytes; a file may have {self.limits.file_bytes}")
        self._ask("write", content, path=path, mode=mode)

    def read_file(self, path: str, max_bytes: int | None = None) -> bytes:
        """Return a regular file's bytes.

        Raises:
            FileRefused: it does not exist, it is too long, or the path leads out of the work folder or through a link.
        """
        return self._ask("read", path=path, max_bytes=self.limits.file_bytes if max_bytes is None else max_bytes)[1]

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with its contents.

        Raises:
            FileRefused: it does not exist, or the path leads out of the work folder or through a link.
        """
        self._ask("remove", path=path)

    def list_files(self) -> tuple[Entry, ...]:
        """Return all entries of the work folder, sorted by path.

        Raises:
            FileRefused: the number of entries exceeds the limit.
        """
        answer, _ = self._ask("list", max_files=self.limits.files)
        return tuple(Entry(path=p, kind=k, size=s, mode=m) for p, k, s, m in answer["entries"])

    def digest(self) -> str:
        """Return a hash of the work folder and of /tmp: of paths, contents, and execute permissions.

        Raises:
            FileRefused: either is larger than the limits allow; holes of sparse files count.
        """
        limits = self.limits
        return str(self._ask("digest", max_files=limits.files, max_bytes=limits.disk_bytes)[0]["digest"])

    def snapshot(self) -> Snapshot:
        """Return the contents of the work folder; pipes and sockets are left out.

        Raises:
            FileRefused: it is larger than the limits allow.
        """
        answer, data = self._ask("snapshot", max_files=self.limits.files, max_bytes=self.limits.disk_bytes)
        return Snapshot(entries=tuple(map(tuple, answer["entries"])), data=data)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the work folder from a snapshot of this session or another."""
        self._ask("restore", snapshot.data, entries=[list(entry) for entry in snapshot.entries])

    # -- the sandbox -------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """End every program and remove all files; the next program finds an empty sandbox.

        Raises:
            SandboxFailure: the sandbox fails, and so does its replacement.
        """
        with contextlib.suppress(_Replaced):
            answer, _ = self._exchange({"do": "reset"}, b"", _FILES_S)
            if "error" in answer or answer["left"]:
                raise self._replaced(f"it cannot be emptied: {answer.get('error') or answer['left'][:5]!r:.200}")
        self._has_run = self._lost_program = False
        self._place.limit_hit()

    def close(self) -> None:
        """End the sandbox; do nothing if it has ended, or in a fork of the opening process."""
        if not self._is_closed and not self.is_inherited:
            self._place.close()
        self._is_closed = True

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _run(self, what: dict[str, Any], stdin: bytes, wall_s: float | None, env: Mapping[str, str] | None) -> Result:
        return self._answer("run", stdin, wall_s, **what, env=_env(self._place, env))

    def _answer(self, do: str, blob: bytes, wall_s: float | None, **what: Any) -> Result:  # Any: JSON
        seconds = min(self.limits.wall_s, self.limits.wall_s if wall_s is None else wall_s)
        self._place.limit_hit()  # discard limits that earlier programs hit
        try:
            answer, data = self._exchange({"do": do, "wall_s": seconds, **what}, blob, SLOWEST * seconds + _GRACE_S)
        except _Replaced as replaced:
            return lost(str(replaced), replaced.limit)
        if "error" in answer:
            return not_run(str(answer["error"]))
        return read_result(answer, data, self._place.limit_hit())

    def _ask(self, do: str, blob: bytes = b"", **what: Any) -> tuple[dict[str, Any], bytes]:  # Any: JSON
        try:
            answer, data = self._exchange({"do": do, **what}, blob, _FILES_S)
        except _Replaced as replaced:
            raise FileRefused(str(replaced)) from None
        if "error" in answer:
            raise FileRefused(str(answer["error"]))
        return answer, data

    def _exchange(self, message: dict[str, Any], blob: bytes, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Send a request and return its answer.

        An interrupt closes the session: the next request would read the answer to this one.

        Raises:
            _Replaced: a program broke the sandbox.
            SandboxFailure: the sandbox failed, and no program caused it.
        """
        if self.is_inherited:
            raise CairnError("This sandbox session belongs to the process that this one is a fork of; open another")
        if self._is_asking:
            self.close()
        if self._is_closed:
            raise CairnError("This sandbox session is closed; open another")
        self._has_run = self._has_run or message["do"] in _STARTS
        self._is_asking, self._request_id = True, self._request_id + 1
        try:
            answer, data = self._place.request({**message, "request_id": self._request_id}, blob, timeout_s)
            if answer.get("request_id") != self._request_id:
                raise SandboxLost(f"it answered request {answer.get('request_id')!r:.40}, not {self._request_id}")
        except SandboxLost as error:
            raise self._replaced(str(error)) from error
        except CairnError:  # a refusal, or a failure without an answer
            self._is_asking = False
            raise
        except BaseException:  # raised again
            self.close()
            raise
        self._is_asking = False
        if "broken" in answer:
            raise self._replaced(f"its supervisor failed: {answer['broken']}")
        return answer, data

    def _replaced(self, reason: str) -> _Replaced:
        """Replace a failed sandbox by an empty one, and test the new one with an empty program.

        Raises:
            SandboxFailure: no program has run in the failed sandbox, or the new one does not work either.
        """
        limit, self._is_closed = self._place.limit_hit(), True  # closed unless the new sandbox works
        self._place.close()
        if not self._has_run:
            raise SandboxFailure(reason)
        try:
            self._place = self._tried_place()
        except SandboxFailure as error:
            raise SandboxFailure(f"{reason}; a new sandbox failed too: {error}") from error
        self.last_loss, self._is_closed, self._has_run, self._lost_program = reason, False, False, True
        self._is_asking = False
        return _Replaced(limit)

    def _tried_place(self) -> SandboxProcess:
        place = self._launch(self.limits)
        control = {"do": "run", "code": "", "wall_s": _CONTROL_S, "env": _env(place, None)}
        try:
            answer, _ = place.request(control, b"", SLOWEST * _CONTROL_S)
            if answer.get("exit") != 0:
                raise SandboxFailure(f"it cannot run an empty program: {answer!r:.300}")
        except BaseException:  # also on an interrupt: the sandbox must not be left behind; raised again
            place.close()
            raise
        return place


def _env(place: SandboxProcess, env: Mapping[str, str] | None) -> dict[str, str]:
    return {**_ENV, "HOME": place.home, **place.env, **(env or {})}


class Launcher(Protocol):
    """Starts sandbox processes."""

    def __call__(self, limits: Limits) -> SandboxProcess:
        """Start a sandbox and wait until its supervisor answers.

        Raises:
            SandboxFailure: it did not start.
        """


class NoNetworkError(ConfigError):
    """A network was requested from a kind of sandbox that does not provide one."""


class SandboxConfig(Config):
    """Settings of every kind of sandbox; kinds add their own fields."""

    network: tuple[Destination, ...] = Field(
        (),
        description="What programs may reach: 'host:port', '*.domain:port', 'name:port@address'. Some kinds refuse it.",
    )


class Sandbox:
    """A kind of sandbox: how to start one, and why this machine may not support it."""

    name: ClassVar[str]
    promises: ClassVar[str]  # one line for listings: the protection that it promises

    no_network: ClassVar[str | None] = "its programs have none"  # and a remedy; None: it supports `config.network`

    def __init__(self, config: SandboxConfig) -> None:
        """Check the settings that every kind must respect.

        Raises:
            NoNetworkError: a network is requested and not supported.
        """
        if config.network and self.no_network is not None:
            raise NoNetworkError(f"The sandbox {self.name!r} takes no `network`: {self.no_network}")
        self.config = config

    def problem(self) -> str | None:
        """Return why it cannot work on this machine and a remedy, or None if it can."""
        raise NotImplementedError

    def launch(self, limits: Limits) -> SandboxProcess:
        """Start a sandbox process; see `Launcher`."""
        raise NotImplementedError

    def session(self, limits: Limits | None = None) -> Session:
        """Open a session.

        Raises:
            CairnError: this kind of sandbox does not work on this machine.
            SandboxFailure: the sandbox did not start.
        """
        problem = self.problem()
        if problem is not None:
            raise CairnError(f"The sandbox {self.name!r} cannot be used: {problem}")
        return Session(self.launch, limits or Limits(), self.name)

    def close(self) -> None:
        """Release resources that all sessions share."""
