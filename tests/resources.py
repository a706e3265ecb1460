"""Prints the peak memory and processes of a test run; fails the run above limits, or when it leaves processes.

The process that was started by the user, which is the controller under pytest-xdist, samples itself and all its
descendants, also those whose parents have ended: descendants of every environment, session and user inherit an unusual
limit, the mark of the run. Memory is the proportional set size (shared pages are divided among the processes that share
them), so the sum over processes is right.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from tests.sampling import SEED

SAMPLE_S = 0.5
GRACE_S = 5.0  # for processes that are ending when the run ends
OOM_SCORE = 500  # of 1000: under memory pressure the kernel ends the tests before the user's other programs
GIB = 1 << 30
_USUAL_BYTES = 819_200  # of a process's message queues
# Helpers of the multiprocessing module, which end with the process that started them.
_ENDS_WITH_PARENT = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")


@dataclass(frozen=True, kw_only=True, slots=True)
class Peak:
    """The largest sample of one quantity."""

    total: int = 0  # bytes or processes
    by_name: tuple[tuple[str, int], ...] = ()  # the same, by name of program, largest first


@dataclass
class Monitor:
    """Samples a process and its descendants in a thread until it is stopped."""

    root: psutil.Process = field(default_factory=psutil.Process)
    memory: Peak = Peak()
    processes: Peak = Peak()

    def __post_init__(self) -> None:
        """Start nothing yet."""
        self._mark: int | None = None
        self._is_marked: dict[int, bool] = {}  # of each process, which is a file to read
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="resource-monitor", daemon=True)

    def start(self) -> None:
        """Mark this process and those that it starts from now on, and begin to sample."""
        self._mark = _set_mark()
        self._thread.start()

    def stop(self) -> None:
        """Take a last sample and end."""
        self._done.set()
        self._thread.join()

    def sample(self) -> None:
        """Update the peaks."""
        running = [self.root, *self.descendants()]
        names = {process: name for process in running if (name := _name(process))}
        if len(names) > self.processes.total:
            self.processes = _peak(Counter(names.values()))
        resident = sum(_resident_bytes(process) for process in names)
        if resident > self.memory.total:  # an upper bound of the sum below, which takes longer
            memory = Counter[str]()
            for process, name in names.items():
                memory[name] += _proportional_bytes(process)
            if memory.total() > self.memory.total:
                self.memory = _peak(memory)

    def descendants(self) -> set[psutil.Process]:
        """Return the running processes that the root has started, directly or not, with or without a parent."""
        found = self._marked() if self._mark is not None else self.root.children(recursive=True)
        return {process for process in found if not _is_ending(process)} - {self.root}

    def _marked(self) -> Iterator[psutil.Process]:
        running = psutil.pids()
        self._is_marked = {
            pid: self._is_marked[pid] if pid in self._is_marked else _mark_of(pid) == self._mark for pid in running
        }
        for pid in running:
            if self._is_marked[pid]:
                with suppress(psutil.Error):  # it has ended
                    yield psutil.Process(pid)

    def _run(self) -> None:
        while not self._done.wait(SAMPLE_S):
            self.sample()
        self.sample()


def end_remaining(processes: Iterable[psutil.Process], grace_s: float) -> list[str]:
    """End processes that run after a grace period and return their descriptions; helpers end with their parent."""
    running = [process for process in processes if not _ends_with_parent(process)]
    _, running = psutil.wait_procs(running, timeout=grace_s)
    found = sorted(_description(process) for process in running if not _is_ending(process))
    for process in running:
        with suppress(psutil.Error):
            process.kill()
    return found


@dataclass
class Resources:
    """The pytest plug-in of one process of a run."""

    limit_bytes: int
    limit_processes: int
    is_worker: bool  # of pytest-xdist
    grace_s: float = GRACE_S

    def __post_init__(self) -> None:
        """Make the run's folder for temporary files, where this is its first process."""
        _raise_oom_score()
        self.problems: list[str] = []
        self._keeps = False
        self.monitor = Monitor()
        self._folder: Path | None = None
        if not self.is_worker:
            self._folder = _temporary_folder()
            self.monitor.start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Take over the problems of a worker that has ended."""
        self.problems += getattr(node, "workeroutput", {}).get("resources", [])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Check that fixtures have ended all processes; the controller checks the limits as well, and fails the run."""
        if self.is_worker:
            session.config.workeroutput["resources"] = self._left()  # type: ignore[attr-defined]  # pytest-xdist's
            return
        self.monitor.stop()
        self._keeps = session.exitstatus == pytest.ExitCode.TESTS_FAILED
        self.problems += [*self._left(), *self._excess()]
        if self.problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the peaks and the problems."""
        memory, processes = self.monitor.memory, self.monitor.processes
        terminalreporter.write_sep("-", "resources")
        terminalreporter.write_line(
            f"peak memory {memory.total / GIB:.2f} GiB (limit {self.limit_bytes / GIB:g}): "
            + ", ".join(f"{name} {size / GIB:.2f}" for name, size in memory.by_name[:6])
        )
        terminalreporter.write_line(
            f"peak processes {processes.total} (limit {self.limit_processes}): "
            + ", ".join(f"{name} {count}" for name, count in processes.by_name[:6])
        )
        terminalreporter.write_line(f"samples of today: CAIRN_SAMPLE_SEED={SEED} repeats them")
        for problem in self.problems:
            terminalreporter.write_line(f"ERROR {problem}", red=True)

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Remove the run's temporary files; those of failed tests stay, where pytest says that they are."""
        if self._folder is not None:
            kept = self._folder.glob("pytest-of-*") if self._keeps else ()
            for path in {*self._folder.iterdir()} - {*kept} if self._keeps else [self._folder]:
                shutil.rmtree(path, ignore_errors=True)

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _left(self) -> list[str]:
        processes = psutil.Process().children(recursive=True) if self.is_worker else self.monitor.descendants()
        return [f"a test has left a process: {each}" for each in end_remaining(processes, self.grace_s)]

    def _excess(self) -> Iterator[str]:
        memory, processes = self.monitor.memory.total, self.monitor.processes.total
        if memory > self.limit_bytes:
            yield f"the run used {memory / GIB:.2f} GiB at its peak; the limit is {self.limit_bytes / GIB:g} GiB"
        if processes > self.limit_processes:
            yield f"the run had {processes} processes at its peak; the limit is {self.limit_processes}"


def trim_memory() -> None:
    """Return freed memory of this process to the system: glibc keeps up to 200 MB after tests that train."""
    with suppress(AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _temporary_folder() -> Path:
    """Make a folder, have this process and those that it starts use it for temporary files, and return it."""
    folder = Path(tempfile.mkdtemp(prefix="cairn-tests-"))
    folder.chmod(0o1777)  # sandboxes run as other users
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    return folder


def _raise_oom_score() -> None:
    score = Path("/proc/self/oom_score_adj")
    with suppress(OSError, ValueError):  # not on Linux
        score.write_text(str(max(OOM_SCORE, int(score.read_text()))))


def _set_mark() -> int | None:
    """Set this process's limit on message queues, which nothing here uses, to a number of its own; None: no Linux."""
    if not hasattr(resource, "RLIMIT_MSGQUEUE"):
        return None
    _, most = resource.getrlimit(resource.RLIMIT_MSGQUEUE)
    mark = (most if most > 0 else _USUAL_BYTES) - 1 - os.getpid() % (_USUAL_BYTES // 2)
    resource.setrlimit(resource.RLIMIT_MSGQUEUE, (mark, most))
    return mark


def _mark_of(pid: int) -> int | None:
    with suppress(OSError):  # it has ended
        for line in Path(f"/proc/{pid}/limits").read_text().splitlines():
            if line.startswith("Max msgqueue size"):
                soft = line.split()[3]
                return int(soft) if soft.isdigit() else None
    return None


def _peak(counts: Counter[str]) -> Peak:
    return Peak(total=counts.total(), by_name=tuple(counts.most_common()))


def _name(process: psutil.Process) -> str:
    """Return the name of a process's program; "": it has ended."""
    with suppress(psutil.Error):
        if process.status() != psutil.STATUS_ZOMBIE:
            return str(process.name())
    return ""


def _resident_bytes(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0


def _proportional_bytes(process: psutil.Process) -> int:
    """Return the memory of a process, where shared pages are divided by the number of processes that share them."""
    with suppress(OSError):  # it has ended
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0


def _is_ending(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    return True


def _ends_with_parent(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return any(helper in " ".join(process.cmdline()) for helper in _ENDS_WITH_PARENT)
    return True


def _description(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return f"{process.pid} {' '.join(process.cmdline())[:200] or process.name()}"
    return f"{process.pid}"
