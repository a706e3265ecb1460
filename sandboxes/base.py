"""The sandbox contract: sessions in which untrusted programs run, with limits, files and one open program.

A sandbox kind says how a place is made; a `Session` is one such place, and talks to the supervisor that runs in it
(`inside/supervisor.py`). What a program does wrong, limits included, is a `Result`. Only a place that fails by itself
raises `SandboxFailure`, and is not to be used again.
Paths are relative to the session's work folder; absolute ones are refused, and so is whatever leads out of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from pydantic import Field

from cairn.core.config import Config
from cairn.core.errors import CairnError, ConfigError, SandboxFailure
from cairn.sandboxes.inside.watch import SLOWEST
from cairn.sandboxes.network import Destination
from cairn.sandboxes.result import LimitName, Result, not_run, read_result

Kind = Literal["file", "folder", "link", "other"]

_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",  # equal programs give equal outputs
}
_GRACE_S = 10.0  # beyond what a program may take, after which the place itself must be broken
_FILES_S = 30.0  # for a request about files


class Limits(Config):
    """What the programs of a session may use."""

    wall_s: float = Field(10.0, gt=0, description="Seconds of a run or a turn, beside waiting for a processor.")
    cpu_s: float = Field(10.0, gt=0, description="CPU seconds of all its processes together.")
    memory_bytes: int = Field(512 << 20, ge=32 << 20, description="Memory of all processes and files in memory.")
    processes: int = Field(64, ge=2, description="Processes and threads at once.")
    cpus: float = Field(1.0, gt=0, description="CPU seconds a second, where control groups can be written.")
    file_bytes: int = Field(32 << 20, ge=1 << 12, description="Size of one file.")
    disk_bytes: int = Field(
        64 << 20, ge=1 << 16, description="All that lies in the work folder; the same again in /tmp."
    )
    files: int = Field(10_000, ge=10, description="Files and folders in the work folder; the same again in /tmp.")
    open_files: int = Field(256, ge=16, description="Open descriptors of one process.")
    output_bytes: int = Field(
        1 << 20, ge=1 << 10, description="Bytes of standard output, and of standard error, a run."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something in the work folder."""

    path: str
    kind: Kind
    size: int  # bytes; 0 unless a file
    mode: int  # permission bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A work folder as it was; goes into any session."""

    entries: tuple[tuple[str, str, int, int, str], ...]  # path, kind, size, mode, target of a link
    data: bytes  # of the files, one after another


class FileRefused(CairnError):  # noqa: N818  (an answer)
    """A request about a file that cannot be met; the text is for whoever asked."""


class Place(Protocol):
    """Where a supervisor runs: how to reach it, what it has used, and how to end it."""

    home: str  # the work folder, as programs see it
    env: Mapping[str, str]  # that every program gets here besides PATH, HOME and the like

    def exchange(self, message: Mapping[str, Any], blob: bytes, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Send a request and return the answer.

        Raises:
            SandboxFailure: it did not come, or is none.
        """

    def limit_hit(self) -> LimitName | None:
        """Return which limit control groups have enforced since the last call; None: none, or there are none."""

    def close(self) -> None:
        """End it, whatever runs in it."""


class Session:
    """One place in which programs run; not for several threads at once."""

    def __init__(self, launch: Launch, limits: Limits, kind: str) -> None:
        """`kind`: the name of the sandbox that makes it."""
        self._launch, self.limits, self.kind = launch, limits, kind
        self._place = launch(limits)
        self._is_closed = False

    @property
    def home(self) -> str:
        """The work folder's path, as programs see it."""
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
        """Run a command to its end; everything that it started ends with it.

        `wall_s`: less than the session's limit; `env`: besides PATH, HOME and a few more that every program gets.
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
        """Run Python source to its end, in a fork of a warm interpreter; nothing of it is left for the next."""
        return self._run({"code": code}, stdin, wall_s, env)

    def open(self, command: Sequence[str] | str, *, env: Mapping[str, str] | None = None) -> None:
        """Start the program that stays open, a command or Python source; it reads and writes lines on descriptor 3."""
        what = {"code": command} if isinstance(command, str) else {"argv": list(command)}
        self._ask("open", **what, env=self._env(env))

    def talk(self, line: str, *, wall_s: float | None = None) -> Result:
        """Say a line to the open program and return its answer; past its time it is interrupted, then killed.

        Raises:
            CairnError: no program is open.
        """
        return self._answer("talk", line.encode("utf-8", "surrogatepass") + b"\n", wall_s)

    def shut(self) -> None:
        """End the open program."""
        self._ask("shut")

    def warm(self, modules: Sequence[str]) -> None:
        """Import modules of the standard library ahead, so that Python programs start with them.

        Raises:
            FileRefused: there is no such module.
        """
        self._ask("warm", modules=list(modules))

    # -- files -------------------------------------------------------------------------------------------------------

    def write_file(self, path: str, data: bytes | str, mode: int = 0o644) -> None:
        """Put a file in place of the one that is there, with its folders.

        Raises:
            FileRefused: the path leads elsewhere or through a link, or there is no room.
        """
        content = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        if len(content) > self.limits.file_bytes:
            raise FileRefused(f"{path}: {len(content)} bytes; a file may have {self.limits.file_bytes}")
        self._ask("write", content, path=path, mode=mode)

    def read_file(self, path: str, max_bytes: int | None = None) -> bytes:
        """Return a regular file's bytes.

        Raises:
            FileRefused: there is none, it is too long, or the path leads elsewhere or through a link.
        """
        return self._ask("read", path=path, max_bytes=self.limits.file_bytes if max_bytes is None else max_bytes)[1]

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it.

        Raises:
            FileRefused: there is none, or the path leads elsewhere or through a link.
        """
        self._ask("remove", path=path)

    def list_files(self) -> tuple[Entry, ...]:
        """Return all that lies in the work folder, sorted by path.

        Raises:
            FileRefused: there is more than the limits allow.
        """
        answer, _ = self._ask("list", max_files=self.limits.files)
        return tuple(Entry(path=p, kind=k, size=s, mode=m) for p, k, s, m in answer["entries"])

    def digest(self) -> str:
        """Return a hash of the work folder and of /tmp: of paths, contents, and who may run them."""
        return str(self._ask("digest", max_files=self.limits.files)[0]["digest"])

    def snapshot(self) -> Snapshot:
        """Return the work folder as it is; pipes and sockets are left out.

        Raises:
            FileRefused: it is larger than the limits allow.
        """
        answer, data = self._ask("snapshot", max_files=self.limits.files, max_bytes=self.limits.disk_bytes)
        return Snapshot(entries=tuple(map(tuple, answer["entries"])), data=data)

    def restore(self, snapshot: Snapshot) -> None:
        """Make the work folder what it was, of this session or another."""
        self._ask("restore", snapshot.data, entries=[list(entry) for entry in snapshot.entries])

    # -- the place ---------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """End every program and leave nothing of them: files, processes, memory; the next finds a new place.

        Raises:
            SandboxFailure: something is left.
        """
        answer, _ = self._ask("reset")
        if answer["left"]:
            self.close()
            raise SandboxFailure(f"A sandbox could not be emptied; left: {answer['left'][:5]!r:.200}")
        self._place.limit_hit()

    def close(self) -> None:
        """End the place and all that runs in it; again does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self._place.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _run(self, what: dict[str, Any], stdin: bytes, wall_s: float | None, env: Mapping[str, str] | None) -> Result:
        return self._answer("run", stdin, wall_s, **what, env=self._env(env))

    def _answer(self, do: str, blob: bytes, wall_s: float | None, **what: Any) -> Result:  # Any: JSON
        seconds = min(self.limits.wall_s, self.limits.wall_s if wall_s is None else wall_s)
        self._place.limit_hit()  # what was hit before is not this program's
        try:
            answer, data = self._exchange({"do": do, "wall_s": seconds, **what}, blob, SLOWEST * seconds + _GRACE_S)
        except SandboxFailure:
            limit = self._place.limit_hit()
            if limit is None:
                raise
            return self._lost(limit)
        if "error" in answer:
            return not_run(str(answer["error"]))
        return read_result(answer, data, self._place.limit_hit())

    def _lost(self, limit: LimitName) -> Result:
        """The supervisor itself fell to a limit that all processes share: begin anew in a fresh place."""
        self._place.close()
        self._place = self._launch(self.limits)
        nothing = {"stdout": b"", "stderr": b"", "wall_s": 0.0, "waited_s": 0.0, "cpu_s": 0.0, "peak_memory_bytes": 0}
        return Result(exit_code=None, signal=9, limit=limit, is_lost=True, **nothing)  # type: ignore[arg-type]  # by name

    def _ask(self, do: str, blob: bytes = b"", **what: Any) -> tuple[dict[str, Any], bytes]:  # Any: JSON
        answer, data = self._exchange({"do": do, **what}, blob, _FILES_S)
        if "error" in answer:
            raise FileRefused(str(answer["error"]))
        return answer, data

    def _exchange(self, message: dict[str, Any], blob: bytes, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        if self._is_closed:
            raise CairnError("This sandbox session is closed; open another")
        answer, data = self._place.exchange(message, blob, timeout_s)
        if "broken" in answer:
            self.close()
            raise SandboxFailure(f"A sandbox's supervisor failed: {answer['broken']}")
        return answer, data

    def _env(self, env: Mapping[str, str] | None) -> dict[str, str]:
        return {**_ENV, "HOME": self.home, **self._place.env, **(env or {})}


class Launch(Protocol):
    """Makes places."""

    def __call__(self, limits: Limits) -> Place:
        """Start a place and wait until its supervisor answers.

        Raises:
            SandboxFailure: it did not start.
        """


class NoNetworkError(ConfigError):
    """A network was asked for of a kind of sandbox that can give none."""


class SandboxConfig(Config):
    """What every kind of sandbox can be told; kinds add their own fields."""

    network: tuple[Destination, ...] = Field(
        (),
        description="What programs may reach: 'host:port', '*.domain:port', 'name:port@address'. Some kinds refuse it.",
    )


class Sandbox:
    """A way to make places. Subclasses say how (`launch`), and what is missing where they cannot (`problem`)."""

    Config: ClassVar[type[SandboxConfig]] = SandboxConfig
    name: ClassVar[str]
    promises: ClassVar[str]  # one line for listings: what it keeps programs from

    no_network: ClassVar[str | None] = "its programs have none"  # and what to do; None: it keeps to `config.network`

    def __init__(self, config: SandboxConfig) -> None:
        """Check what no kind may ignore.

        Raises:
            NoNetworkError: a network is asked for.
        """
        if config.network and self.no_network is not None:
            raise NoNetworkError(f"The sandbox {self.name!r} takes no `network`: {self.no_network}")
        self.config = config

    def problem(self) -> str | None:
        """Return why it cannot work on this machine and what to do; None: it can."""
        raise NotImplementedError

    def launch(self, limits: Limits) -> Place:
        """Start a place; see `Launch`."""
        raise NotImplementedError

    def session(self, limits: Limits | None = None) -> Session:
        """Open a session.

        Raises:
            CairnError: it cannot work on this machine.
            SandboxFailure: it did not start.
        """
        problem = self.problem()
        if problem is not None:
            raise CairnError(f"The sandbox {self.name!r} cannot be used: {problem}")
        return Session(self.launch, limits or Limits(), self.name)

    def close(self) -> None:
        """Give back what all sessions share."""
