"""The limits on a test run, on small runs of pytest: each fails for its reason, and a clean one passes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from tests.resources import Monitor, end_remaining

ROOT = Path(__file__).parents[1]
CONFTEST = """
from tests import resources
from tests.resources import Resources

resources.SAMPLE_S = 0.05  # these runs are short

def pytest_configure(config):
    config.pluginmanager.register(
        Resources(limit_bytes=300 << 20, limit_processes=6, is_worker=hasattr(config, "workerinput"), grace_s=0.2)
    )
"""


def run(folder: Path, test: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run one test under limits of 300 MiB and 6 processes, with a folder for temporary files of its own."""
    for name, text in {
        "conftest.py": CONFTEST,
        "test_it.py": f"def test_it():\n{textwrap.indent(test, '    ')}\n",
    }.items():
        (folder / name).write_text(text)
    (folder / "tmp").mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TMPDIR"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(folder)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**env, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")},
        timeout=60,
        check=False,
    )


SLEEPER = "import subprocess, sys\nprint(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid)"


@pytest.mark.rotating(3)
def test_a_clean_run_passes_prints_its_peaks_and_leaves_no_file(tmp_path: Path) -> None:
    done = run(tmp_path, "import tempfile\ntempfile.mkdtemp()", "-n", "2")
    assert done.returncode == 0, done.stdout
    assert "peak memory 0." in done.stdout
    # Workers may end between two samples, and a fork of one has its name until it becomes another program.
    assert re.search(r"peak processes [1-5] \(limit 6\): python", done.stdout)
    assert not list((tmp_path / "tmp").glob("cairn-tests-*"))


@pytest.mark.rotating(3)
@pytest.mark.parametrize(
    "options", [pytest.param((), marks=pytest.mark.slow, id="alone"), pytest.param(("-n", "1"), id="worker")]
)
def test_a_process_that_a_test_leaves_fails_the_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run(tmp_path, SLEEPER, *options)
    assert "1 passed" in done.stdout
    assert done.returncode == 1
    assert "a test has left a process" in done.stdout
    assert "time.sleep(600)" in done.stdout
    assert not any(is_running(pid) for pid in left(done.stdout))


@pytest.mark.slow
def test_a_daemon_whose_parent_has_ended_at_once_fails_the_run(tmp_path: Path) -> None:
    daemon = (
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {SLEEPER!r}], start_new_session=True, env={{}})"
    )
    done = run(tmp_path, daemon, "-n", "1")
    assert done.returncode == 1
    assert "time.sleep(600)" in done.stdout
    assert not any(is_running(pid) for pid in left(done.stdout))


@pytest.mark.rotating(3)
def test_memory_beyond_the_limit_fails_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, "import time\nheld = b'x' * (400 << 20)\ntime.sleep(1.5)")
    assert done.returncode == 1
    assert "GiB at its peak; the limit is" in done.stdout


@pytest.mark.slow
def test_processes_beyond_the_limit_fail_the_run(tmp_path: Path) -> None:
    many = "import subprocess, time\nfor each in [subprocess.Popen(['sleep', '1.5']) for _ in range(8)]: each.wait()"
    done = run(tmp_path, many)
    assert done.returncode == 1
    assert "the run had 9 processes at its peak; the limit is 6" in done.stdout


def left(printed: str) -> list[int]:
    """Return the processes that a run has reported as left, and has ended."""
    found = [int(pid) for pid in re.findall(r"has left a process: (\d+)", printed)]
    assert found
    return found


def is_running(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_shared_memory_counts_once() -> None:
    """A fork shares 200 MB with its parent: the peak of both grows by far less."""
    held = bytearray(b"x" * (200 << 20))
    alone, both = Monitor(), Monitor()
    alone.sample()
    if (pid := os.fork()) == 0:
        time.sleep(60)
        os._exit(0)
    both.sample()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert both.processes.total == alone.processes.total + 1
    assert len(held) < alone.memory.total < both.memory.total < alone.memory.total + len(held) / 2


def test_a_process_that_ends_within_the_grace_period_is_not_reported() -> None:
    with subprocess.Popen(["sleep", "0.2"]) as process:
        assert end_remaining([psutil.Process(process.pid)], grace_s=10) == []
    with subprocess.Popen(["sleep", "60"]) as process:
        (found,) = end_remaining([psutil.Process(process.pid)], grace_s=0)
        assert found.startswith(f"{process.pid} sleep")
