"""Limits count the use that programs hide: unlinked files, odd folders, short-lived children, work between turns."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from cairn.core.errors import CairnError
from cairn.sandboxes.base import Limits, Session
from cairn.sandboxes.local import cgroups
from tests.sandboxes.test_contract import below
from tests.sandboxes.usable import usable

LIMITS = Limits(disk_bytes=32 << 20, file_bytes=16 << 20, memory_bytes=256 << 20, files=500, cpu_s=2, wall_s=60)
LITTLE_CPU = LIMITS.model_copy(update={"cpu_s": 0.5})
PATIENCE_S = 60.0  # only a fault takes so long
FILL = """
def fill(name):
    file = open(name, 'wb')
    for _ in range(15):
        file.write(bytes(1 << 20))
    file.flush()
    return file
"""
UNLINKED = f"""
import os, time
{FILL}
kept = []
for number in range(12):
    kept.append(fill(f'hidden-{{number}}'))
    os.unlink(f'hidden-{{number}}')
time.sleep(600)
"""
MAPPED = f"""
import ctypes, os, time
{FILL}
libc = ctypes.CDLL(None)
for number in range(12):
    with fill(f'mapped-{{number}}') as file:
        fd = os.open(file.name, os.O_RDONLY)
        libc.mmap(None, ctypes.c_size_t(4096), 1, 1, fd, ctypes.c_long(0))
        os.close(fd)
    os.unlink(f'mapped-{{number}}')
time.sleep(600)
"""
UNREADABLE = f"""
import os, time
{FILL}
for number in range(12):
    os.mkdir(f'closed-{{number}}')
    fill(f'closed-{{number}}/file').close()
    os.chmod(f'closed-{{number}}', 0)
time.sleep(600)
"""
LONG_PATH = f"""
import os, time
{FILL}
for _ in range(30):
    os.mkdir('d' * 200)
    os.chdir('d' * 200)
for number in range(12):
    fill(f'far-{{number}}').close()
time.sleep(600)
"""
BOTTOMLESS = """
import os, time
for _ in range(300):
    os.mkdir('d')
    os.chdir('d')
time.sleep(600)
"""
AT_ONCE = f"{FILL}\nfor number in range(12):\n    fill(f'quick-{{number}}').close()\n"
UNDUMPABLE = """
import ctypes, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
time.sleep(600)
"""
# The children use 3 s of CPU time together; the program itself uses less than 0.5 s.
CHILDREN = """
import os, time
for _ in range(150):
    child = os.fork()
    if child == 0:
        while time.process_time() < 0.02:
            pass
        os._exit(0)
    os.waitpid(child, 0)
"""
ECHO = """
import os, threading, time
{work}
with os.fdopen(3, 'r+b', 0) as control:
    line = control.readline()
    {start}
    while line:
        control.write(line)
        line = control.readline()
"""


@pytest.fixture(params=["landlock", "bubblewrap"])
def session(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """Give a session where no control group can be made."""
    monkeypatch.setattr(cgroups, "_parents", lambda: {})
    with usable(request.param).session(LITTLE_CPU) as made:
        yield made


@pytest.fixture
def landlock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """Give a session whose files are on a disk of the host; the parameter, if any, is its limits."""
    monkeypatch.setattr(cgroups, "_parents", lambda: {})
    with usable("landlock").session(getattr(request, "param", LIMITS)) as made:
        yield made


@pytest.mark.parametrize(
    ("source", "limit"),
    [
        pytest.param(UNLINKED, "disk", id="unlinked"),
        pytest.param(MAPPED, "disk", id="mapped"),
        pytest.param(UNREADABLE, "disk", id="unreadable"),
        pytest.param(LONG_PATH, "disk", id="long_path"),
        pytest.param(AT_ONCE, "disk", id="at_once"),
        pytest.param(BOTTOMLESS, "files", id="bottomless"),
        pytest.param(UNDUMPABLE, "files", id="undumpable"),
    ],
)
def test_hidden_files_count(landlock: Session, source: str, limit: str) -> None:
    assert landlock.run_python(source).limit == limit  # a program that sleeps unnoticed reaches the wall limit instead
    landlock.reset()
    assert landlock.run_python("print(1)").output == "1\n"


def test_mode_of_a_counted_folder_is_unchanged(landlock: Session) -> None:
    source = "import os, time\nos.mkdir('a')\nos.chmod('a', 0)\ntime.sleep(1)\nprint(oct(os.stat('a').st_mode & 0o777))"
    assert landlock.run_python(source).output == "0o0\n"


def test_cpu_time_of_short_lived_children_counts(session: Session) -> None:
    result = session.run_python(CHILDREN)
    assert result.limit == "cpu"
    assert result.cpu_s >= 0.5


@pytest.mark.parametrize(
    ("landlock", "work", "limit"),
    [
        (
            LIMITS,
            f"{FILL}\ndef work():\n    time.sleep(0.3)\n    for n in range(12):\n        fill(f'f{{n}}').close()\n",
            "disk",
        ),
        (
            LIMITS,
            "def work():\n    global kept\n    time.sleep(0.3)\n    kept = bytearray(b'x') * (400 << 20)\n",
            "memory",
        ),
        (LITTLE_CPU, "def work():\n    time.sleep(0.3)\n    while True:\n        pass\n", "cpu"),
    ],
    indirect=["landlock"],
    ids=["disk", "memory", "cpu"],
)
def test_work_between_turns_counts(landlock: Session, work: str, limit: str) -> None:
    landlock.start_program(f"{ECHO.format(start='threading.Thread(target=work, daemon=True).start()', work=work)}")
    assert landlock.send_line("first").line == "first"
    wait_until_ended(landlock)
    assert landlock.send_line("second").limit == limit
    with pytest.raises(CairnError, match="no program is open"):
        landlock.send_line("third")
    landlock.reset()
    landlock.start_program(ECHO.format(start="", work=""))
    assert landlock.send_line("again").line == "again"


def wait_until_ended(session: Session) -> None:
    """Wait until the session's open program has ended, without sending the session a request."""
    place: Any = getattr(session._place, "_place", session._place)
    until = time.monotonic() + PATIENCE_S
    while below(place._process.pid):
        assert time.monotonic() < until, "the open program still runs"
        time.sleep(0.02)


def test_an_idle_program_stays_open(session: Session) -> None:
    session.start_program(ECHO.format(start="", work=""))
    assert session.send_line("first").line == "first"
    time.sleep(1)
    answer = session.send_line("second")
    assert (answer.line, answer.limit) == ("second", None)
    assert answer.cpu_s < 0.2
