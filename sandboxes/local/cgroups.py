"""Control groups, version 1 or 2, around a sandbox: limits on all of its processes together.

Used if this process may create groups (as root, or in a delegated group); otherwise the supervisor's own watch enforces
the limits. A group is created below the group of this process, and removed with the sandbox.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from pathlib import Path

from cairn.sandboxes.base import Limits
from cairn.sandboxes.records import LimitName

_NUMBERS = itertools.count()
_PERIOD_US = 100_000
_PATIENCE_S = 5.0


class ControlGroup:
    """One sandbox's control group, in each hierarchy that it uses."""

    def __init__(self, limits: Limits) -> None:
        """Create the group, in those hierarchies that this process may write to."""
        self.folders: dict[str, Path] = {}
        name = f"cairn-{os.getpid()}-{next(_NUMBERS)}"
        for controller, parent in _parents().items():
            _remove_left_over(parent)
            folder = parent / name
            try:
                folder.mkdir(exist_ok=True)
                for file, value in _settings(controller, limits).items():
                    if (folder / file).exists():  # swap and CPU control are not built into every kernel
                        (folder / file).write_text(value)
                self.folders[controller] = folder
            except OSError:  # not writable: the group does without this controller
                with contextlib.suppress(OSError):
                    folder.rmdir()
        self._seen = self._counts()

    @property
    def limits_memory(self) -> bool:
        """Whether the kernel limits memory."""
        return bool({"memory", "unified"} & set(self.folders))

    @property
    def limits_processes(self) -> bool:
        """Whether the kernel limits the number of processes."""
        return bool({"pids", "unified"} & set(self.folders))

    def add(self, pid: int) -> None:
        """Add a process to the group; its future children are added too."""
        for folder in self.folders.values():
            (folder / "cgroup.procs").write_text(str(pid))

    def limit_hit(self) -> LimitName | None:
        """Return the limit that was enforced since the last call."""
        before, self._seen = self._seen, self._counts()
        for name, count in self._seen.items():
            if count > before.get(name, 0):
                return name
        return None

    def close(self) -> None:
        """Kill the remaining processes of the group and remove it."""
        until = time.monotonic() + _PATIENCE_S
        for folder in self.folders.values():
            while folder.exists():
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                for pid in _members(folder):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                if time.monotonic() > until:
                    break
                time.sleep(0.002)
        self.folders.clear()

    def _counts(self) -> dict[LimitName, int]:
        memory, processes = 0, 0
        for controller, folder in self.folders.items():
            if controller == "memory":
                memory = _count(folder / "memory.oom_control", "oom_kill")
            elif controller == "pids":
                processes = _count(folder / "pids.events", "max")
            elif controller == "unified":
                memory = _count(folder / "memory.events", "oom_kill")
                processes = _count(folder / "pids.events", "max")
        return {"memory": memory, "processes": processes}


def _settings(controller: str, limits: Limits) -> dict[str, str]:
    quota = str(int(limits.cpus * _PERIOD_US))
    memory, processes = str(limits.memory_bytes), str(limits.processes + 1)  # the supervisor is one
    return {
        "memory": {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory},
        "pids": {"pids.max": processes},
        "cpu": {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": quota},
        "unified": {
            "memory.max": memory,
            "memory.swap.max": "0",
            "pids.max": processes,
            "cpu.max": f"{quota} {_PERIOD_US}",
        },
    }[controller]


def _parents() -> dict[str, Path]:
    """Return, by controller, the folder of this process's own group, if it is writable."""
    found: dict[str, Path] = {}
    mounts = _mounts()
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(",") if names else ["unified"]:
            if name in ("memory", "pids", "cpu", "unified") and name in mounts:
                folder = mounts[name] / path.lstrip("/")
                if os.access(folder, os.W_OK) and (name != "unified" or _delegates(folder)):
                    found[name] = folder
    return found


def _delegates(folder: Path) -> bool:
    """Whether groups below this one of version 2 can limit memory and processes."""
    with contextlib.suppress(OSError):
        return {"memory", "pids"} <= set((folder / "cgroup.subtree_control").read_text().split())
    return False


def _mounts() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup2":
            found["unified"] = Path(where)
        elif kind == "cgroup":
            found.update({name: Path(where) for name in options.split(",")})
    return found


def _remove_left_over(parent: Path) -> None:
    """Remove the groups of killed processes."""
    for folder in parent.glob("cairn-*-*"):
        if not Path("/proc", folder.name.split("-")[1]).exists():
            for pid in _members(folder):  # its supervisor was killed too
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):  # another process removed it, or its processes have not ended yet
                folder.rmdir()


def _members(folder: Path) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]
    return []


def _count(file: Path, key: str) -> int:
    with contextlib.suppress(OSError):
        for line in file.read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == key:
                return int(value)
    return 0
