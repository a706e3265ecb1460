"""One container whose first process is a supervisor, reached through its standard streams."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cairn.core.errors import SandboxFailure
from cairn.sandboxes import supervisor_source, wire
from cairn.sandboxes.base import Limits
from cairn.sandboxes.container import docker_engine, fd_socket
from cairn.sandboxes.container.stream import Attached
from cairn.sandboxes.local import seccomp
from cairn.sandboxes.local.cgroups import ControlGroup
from cairn.sandboxes.records import LimitName
from cairn.sandboxes.sandbox_process import SandboxLost

_HOME = "/work"
_USER = 1000
_SHM_BYTES = 1 << 20
_PERIOD_US = 100_000
_START_S = 30.0
_END_S = 5.0
_MARGIN = 1.25  # factor of the kernel's limit over the supervisor's, where the kernel's counters cannot be read
_KILLED = 128 + 9  # exit status of a container whose process 1 was killed
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


class ContainerPlace:
    """A container and the connection to it."""

    def __init__(
        self,
        engine: Any,
        image: Mapping[str, Any],
        python: str,
        limits: Limits,
        runtime: str | None,
        *,
        has_network: bool = False,
    ) -> None:  # Any: the SDK has no types
        """Start the container and wait for the supervisor's answer.

        The container takes over the engine connection and closes it at its end. `has_network`: programs may use the
        container's own network, and `listener` can be called.

        Raises:
            SandboxFailure: it did not start; the message has its output.
            EngineError: the engine refused.
        """
        self._engine, self._id, self._is_gone = engine, "", False
        self._stream: Attached | None = None
        self.home = _HOME
        self.env: Mapping[str, str] = _environment(image)
        machine = _MACHINES.get(image["Architecture"], image["Architecture"])
        filter_ = seccomp.program(has_network=has_network, has_memory_files=True, machine=machine)
        self._line = fd_socket.ContainerSocket() if has_network else None
        try:
            with docker_engine.converted_errors():
                folder = None if self._line is None else self._line.folder
                self._id = engine.create_container(**_settings(engine, image, python, limits, runtime, folder))["Id"]
                asked = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
                self._stream = Attached(
                    engine.attach_socket(self._id, params=asked)
                )  # before the start: no lost output
                engine.start(self._id)
                self._group = _ContainerGroup(self._seen_group() if runtime is None else {})
                if not self._group.folders:
                    most = int(limits.memory_bytes * _MARGIN)
                    engine.update_container(self._id, mem_limit=most, memswap_limit=most)
            self._greet(limits, filter_)
        except BaseException:  # also on an interrupt: the container must not be left behind
            self._removed()
            raise

    def request(self, message: Mapping[str, Any], blob: bytes, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Send a request and return the answer; see `SandboxProcess`."""
        assert self._stream is not None
        try:
            self._stream.send(wire.packed(message, blob), timeout_s)
            return wire.received(self._stream.read, timeout_s)
        except (OSError, ValueError, SandboxFailure) as error:
            self._is_gone = True
            raise SandboxLost(
                f"A container did not answer within {timeout_s:g} s or is gone: {self._stream.error_output() or error}"
            ) from error

    def listener(self, port: int) -> socket.socket:
        """Return a socket that listens in the container's own network.

        The host accepts its connections.

        Raises:
            SandboxFailure: the supervisor cannot listen there, or the engine is not on this machine.
        """
        assert self._line is not None
        answer, _ = self.request({"do": "listen", "port": port, "path": fd_socket.PATH}, b"", _START_S)
        if "error" in answer:
            raise SandboxFailure(f"A container's supervisor hands out no socket: {answer['error']}")
        listener = self._line.received(_START_S)
        self._line.close()
        return listener

    def limit_hit(self) -> LimitName | None:
        """Return the limit enforced since the last call, or the limit that ended the container."""
        return self._group.limit_hit() or ("memory" if self._is_gone and self._was_killed() else None)

    def close(self) -> None:
        """Remove the container and end its processes."""
        self._removed()
        self._engine.close()

    def _greet(self, limits: Limits, filter_: bytes) -> None:
        assert self._stream is not None
        with docker_engine.converted_errors():
            self._stream.send(supervisor_source.modules(), _START_S)
        kept = {"cpu_s", "memory_bytes", "processes", "file_bytes", "disk_bytes", "files", "open_files", "output_bytes"}
        known: dict[str, Any] = limits.model_dump(include=kept)
        known |= {
            "watches_memory": not self._group.limits_memory,
            "watches_processes": not self._group.limits_processes,
        }
        known |= {"has_own_disk": True, "own_processes": None, "address_space": None}
        known["has_network"] = self._line is not None
        confinement = {"readable": [], "writable": [], "devices": [], "landlock": False}
        place = {"home": self.home, "roots": ["/tmp", "/dev/shm"], "confinement": confinement, "is_first": True}
        answer, _ = self.request({"do": "hello", **place, "limits": known}, filter_, _START_S)
        if answer.keys() & {"error", "broken"}:
            raise SandboxFailure(f"A supervisor did not start: {answer}")

    def _seen_group(self) -> dict[str, Path]:
        """Return the folders of the container's control group.

        Empty if the engine is on another machine.
        """
        pid = self._engine.inspect_container(self._id)["State"]["Pid"]
        found: dict[str, Path] = {}
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
                _, names, path = line.split(":", 2)
                for name in names.split(",") if self._id in path else ():
                    folder = Path("/sys/fs/cgroup", name, path.lstrip("/"))
                    if (folder / "pids.events").exists() or (folder / "memory.oom_control").exists():
                        found[name or "unified"] = folder
        return found

    def _was_killed(self) -> bool:
        """Whether the container ended because it ran out of memory."""
        until = time.monotonic() + _END_S
        while True:
            try:
                with docker_engine.converted_errors():
                    state = self._engine.inspect_container(self._id)["State"]
            except docker_engine.EngineError:
                return False
            if not state["Running"] or time.monotonic() > until:
                return bool(state["OOMKilled"]) and state["ExitCode"] == _KILLED
            time.sleep(0.01)

    def _removed(self) -> None:
        if self._id:
            remove(self._engine, self._id)
        if self._stream is not None:
            self._stream.close()
        if self._line is not None:
            self._line.close()


class _ContainerGroup(ControlGroup):
    """The control group that the engine made for a container; read-only."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self.folders = folders
        self._seen = self._counts()


def remove(engine: Any, container: str) -> None:
    """Remove a container; a container that is missing or being removed is not an error."""
    with contextlib.suppress(docker_engine.EngineError), docker_engine.converted_errors():
        engine.remove_container(container, force=True, v=True)


def remove_left_over(engine: Any) -> None:
    """Remove containers of killed processes of this machine."""
    with docker_engine.converted_errors():
        found = engine.containers(all=True, filters={"label": [f"cairn.machine={_machine()}"]})
    for container in found:
        if not Path("/proc", container["Labels"]["cairn.owner"]).exists():
            remove(engine, container["Id"])


def _settings(
    engine: Any, image: Mapping[str, Any], python: str, limits: Limits, runtime: str | None, line: Path | None
) -> dict[str, Any]:
    """Return the settings of a container; `line`: folder of the socket file for its supervisor."""
    return {
        "image": image["Id"],
        "entrypoint": supervisor_source.command(python),
        "command": [],
        "hostname": "sandbox",
        "user": f"{_USER}:{_USER}",
        "working_dir": "/",
        "environment": {"PYTHONHASHSEED": "0"},  # equal programs give equal outputs
        "stdin_open": True,
        "healthcheck": {"test": ["NONE"]},
        "labels": {"cairn.owner": str(os.getpid()), "cairn.machine": _machine()},
        "host_config": engine.create_host_config(
            network_mode="none",
            ipc_mode="private",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            pids_limit=limits.processes + 1,  # the supervisor is one
            mem_limit=limits.memory_bytes,
            memswap_limit=limits.memory_bytes,  # memory and swap together
            cpu_period=_PERIOD_US,
            cpu_quota=max(1000, int(limits.cpus * _PERIOD_US)),
            tmpfs=_folders(image, limits),
            binds=None if line is None else {str(line): {"bind": fd_socket.FOLDER, "mode": "ro"}},
            ulimits=[{"Name": "core", "Soft": 0, "Hard": 0}],
            log_config={"Type": "none"},  # else the engine keeps all output in a file
            init=False,
            runtime=runtime,
        ),
    }


def _folders(image: Mapping[str, Any], limits: Limits) -> dict[str, str]:
    """Return the in-memory file systems of a container.

    An image's volumes would be writable without a limit, so they are mounted read-only.
    """
    own = f"rw,nosuid,nodev,exec,uid={_USER},gid={_USER}"
    closed = dict.fromkeys(image["Config"].get("Volumes") or (), "ro,size=4k")
    sizes = {_HOME: limits.disk_bytes, "/tmp": limits.disk_bytes, "/dev/shm": _SHM_BYTES}
    return closed | {path: f"{own},size={size}" for path, size in sizes.items()}


def _environment(image: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment variables that the image sets, without HOME."""
    pairs = (item.partition("=") for item in image["Config"].get("Env") or ())
    return {name: value for name, _, value in pairs if name != "HOME"}


@functools.cache
def _machine() -> str:
    """Return an identifier of this machine since its boot, and of our namespace of process ids."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}-{os.stat('/proc/self/ns/pid').st_ino}"
