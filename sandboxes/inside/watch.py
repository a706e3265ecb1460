"""Measures the programs' use of resources and finds exceeded limits.

It reads /proc, so programs cannot hide their use.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import stat
import time

import disk
from process_limits import SLOWEST

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any

_PAGE = os.sysconf("SC_PAGE_SIZE")
_HERTZ = os.sysconf("SC_CLK_TCK")
_ENDED = (b"Z", b"X")
_SOCKET_BYTES = 1 << 16  # beside the data in its queues
_TICK_S = 0.02  # interval between checks of running programs
_WALK_EVERY = 5  # checks between two counts of files, on a disk without its own limit


class Watch:
    """Measures all programs together, since the last `begin`."""

    def __init__(self, roots: list[str], limits: dict[str, Any], is_first: bool) -> None:
        self.roots, self.limits, self.is_first = roots, limits, is_first
        self.me = os.getpid()
        self.delays: dict[tuple[int, str], int] = {}
        self.unreadable: set[int] = set()  # processes whose open files could not be read at the last count
        self.num_looks = 0
        self.left_s = _TICK_S  # running time until the next check: turns may be shorter than a tick
        self.begin(0.0)

    def begin(self, wall_s: float, pid: int | None = None) -> None:
        """Start a measurement.

        `pid`: a program that continues; a short turn of it is measured by its own CPU clock alone.
        """
        self.began = time.monotonic()
        self.look_at = self.began + self.left_s
        self.waited_s = 0.0  # time that programs were ready without a processor, as of the last check
        self.peak, self.most_processes = 0, 0
        if pid is None:
            self.num_looks = 0
        self.since = time.time() - 0.01  # file times are coarse
        self.clock = None if pid is None else _clock_of(pid)
        self.clock_before = self._on_clock()
        self.cpu_before = self._cpu_so_far() if pid is None else None
        self.allow(wall_s)

    def allow(self, wall_s: float, after_cpu_s: float = 0.0) -> None:
        """Set the time limit from now on.

        Waiting for a processor does not count below the CPU limit.

        If programs outnumber processors, wall time says little about a program. Waiting time counts again once the
        programs have used `wall_s` of CPU time in addition to `after_cpu_s`: programs that delay each other
        gain nothing.
        """
        now = time.monotonic()
        self.due = self.until = now + wall_s
        self.last, self.most_cpu_s = now + SLOWEST * wall_s, after_cpu_s + wall_s

    def look(self) -> str | None:
        """Return the limit that running programs have exceeded, time included."""
        self.look_at = time.monotonic() + _TICK_S
        pids = self.pids()
        return "wall" if self._is_late(pids) else self.passed(pids)

    def pause(self) -> None:
        """End a turn; programs do not run until the next one begins."""
        self.left_s = max(0.0, self.look_at - time.monotonic())

    def passed(self, pids: list[int], is_thorough: bool = False) -> str | None:
        """Return the limit that these processes have exceeded, or that earlier ones have.

        Args:
            pids: all processes of the programs.
            is_thorough: whether to count files; otherwise they are counted at every `_WALK_EVERY`-th check.
        """
        if self.cpu_before is None:
            self.cpu_before = self._cpu_so_far() - (self._on_clock() - self.clock_before)
        self.num_looks += 1
        self.most_processes = max(self.most_processes, len(pids))
        if self.limits["watches_memory"]:
            self.peak = max(self.peak, used := self._memory(pids))
            if used > self.limits["memory_bytes"]:
                return "memory"
        if self.limits.get("has_network") and _in_sockets(most := self.limits["memory_bytes"]) > most:
            return "memory"  # not every control group counts socket memory
        if self.cpu_s() > self.limits["cpu_s"]:
            return "cpu"
        if self.limits["watches_processes"] and len(pids) > self.limits["processes"]:
            return "processes"
        return self._look_at_files(pids, is_thorough)

    def cpu_s(self) -> float:
        """Return the CPU time of all programs since the beginning."""
        if self.cpu_before is None:
            return max(0.0, self._on_clock() - self.clock_before)
        return max(0.0, self._cpu_so_far() - self.cpu_before)

    def reached(self, status: int) -> str | None:
        """Return the limit that most likely made a failed program fail."""
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if number == signal.SIGXCPU:
            return "cpu"
        if self.limits["has_own_disk"] and any(os.statvfs(root).f_bavail == 0 for root in self.roots):
            return "disk"
        if number == signal.SIGXFSZ or self._has_full_file():
            return "file"
        return "processes" if self.is_crowded else None

    @property
    def is_crowded(self) -> bool:
        """Whether the number of processes reached its limit."""
        return bool(self.most_processes >= self.limits["processes"])

    def pids(self) -> list[int]:
        """Return all running processes that programs have started."""
        return [pid for pid, state in self._found().items() if state not in _ENDED]

    def dead(self) -> list[int]:
        """Return processes that have ended and were not reaped."""
        return [pid for pid, state in self._found().items() if state in _ENDED]

    def _found(self) -> dict[int, bytes]:
        found = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != self.me:
                with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
                    found[int(name)] = (int(parent), state)
        mine = set(found) if self.is_first else _descendants(self.me, {pid: of for pid, (of, _) in found.items()})
        return {pid: found[pid][1] for pid in mine}

    def _is_late(self, pids: list[int]) -> bool:
        now, delays = time.monotonic(), _delays(pids)
        new = max((delay - self.delays.get(task, 0) for task, delay in delays.items()), default=0) / 1e9
        more, self.delays = min(new, now - self.began - self.waited_s), delays
        self.waited_s += more
        self.until = min(self.until + more, self.last)
        return now >= self.until or (now >= self.due and self.cpu_s() >= self.most_cpu_s)

    def _on_clock(self) -> float:
        """Return the CPU time of the program that continues."""
        try:
            return 0.0 if self.clock is None else time.clock_gettime(self.clock)
        except OSError:  # it has ended
            return self.clock_before

    def _cpu_so_far(self) -> float:
        gone = resource.getrusage(resource.RUSAGE_CHILDREN)
        ticks = 0
        for pid in self.pids():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
                ticks += sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))  # including reaped children
        return gone.ru_utime + gone.ru_stime + ticks / _HERTZ

    def _memory(self, pids: list[int]) -> int:
        """Return the memory of all processes.

        Shared pages are counted once only if counting them several times would exceed the limit.
        """
        resident = {pid: _number(f"/proc/{pid}/statm", 1) * _PAGE for pid in pids}
        if sum(resident.values()) <= self.limits["memory_bytes"]:
            return sum(resident.values())
        return sum(_proportional(pid, most) for pid, most in resident.items())

    def _look_at_files(self, pids: list[int], is_thorough: bool) -> str | None:
        limits = self.limits
        if limits["has_own_disk"]:
            used = [os.statvfs(root) for root in self.roots]
            return "files" if any(v.f_files - v.f_ffree > limits["files"] for v in used) else None
        if self.num_looks % _WALK_EVERY and not is_thorough:
            return None
        try:
            usage = disk.DiskUsage(self.roots, pids, limits["file_bytes"], limits["files"])
        except disk.TooDeep:
            return "files"
        hidden, self.unreadable = usage.unreadable & self.unreadable, usage.unreadable
        if usage.files > limits["files"] or hidden:  # checked twice: a starting program is unreadable for a moment
            return "files"
        return "disk" if usage.disk_bytes > limits["disk_bytes"] else None

    def _has_full_file(self) -> bool:
        """Whether a file has been written up to the size limit since the beginning."""
        most = self.limits["file_bytes"]
        with contextlib.suppress(disk.TooDeep):
            found = disk.listed(self.roots)
            return any(a.st_size >= most and a.st_mtime >= self.since and stat.S_ISREG(a.st_mode) for a in found)
        return False


def _clock_of(pid: int) -> int:
    """Return the id of a process's CPU clock, as clock_getcpuclockid(3) computes it."""
    return (~pid << 3) | 2


def _descendants(of: int, parents: dict[int, int]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    pending = [of]
    while pending:
        new = children.get(pending.pop(), [])
        found.update(new)
        pending += new
    return found


def _delays(pids: list[int]) -> dict[tuple[int, str], int]:
    """Return the nanoseconds that each thread was ready without a processor.

    The kernel may not report them; the values are then 0.
    """
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                found[pid, thread] = _number(f"/proc/{pid}/task/{thread}/schedstat", 1)
    return found


def _number(path: str, place: int) -> int:
    with contextlib.suppress(OSError, IndexError), open(path, "rb") as file:
        return int(file.read().split()[place])
    return 0


def _in_sockets(enough: int) -> int:
    """Return the bytes in TCP sockets of this network, or 0 if they cannot reach `enough`.

    The number of sockets is cheap to read; the list of sockets takes milliseconds.
    """
    most = _number("/proc/sys/net/ipv4/tcp_rmem", 2) + _number("/proc/sys/net/ipv4/tcp_wmem", 2)
    with contextlib.suppress(OSError, IndexError, ValueError):
        with open("/proc/net/sockstat", "rb") as file:
            count = int(file.read().partition(b"TCP: inuse ")[2].split()[0])
        if most and count * most < enough:
            return 0
        with open("/proc/net/tcp", "rb") as file:
            queues = [line.split()[4].split(b":") for line in file.readlines()[1:]]
        return sum(_SOCKET_BYTES + int(sent, 16) + int(received, 16) for sent, received in queues)
    return 0


def _proportional(pid: int, otherwise: int) -> int:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup", "rb") as file:
        for line in file:
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    return otherwise
