"""Limits count the use that programs hide: unlinked files, odd folders, short-lived children, work between turns."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from cairn.core.errors import CairnError
from cairn.sandboxes import cgroups
from cairn.sandboxes.base import Limits, Session
from tests.sandboxes.usable import usable

LIMITS = Limits(disk_bytes=32 << 20, file_bytes=16 << 20, memory_bytes=256 << 20, files=500, cpu_s=2, wall_s=20)
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
time.sleep(10)
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
time.sleep(10)
"""
UNREADABLE = f"""
import os, time
{FILL}
for number in range(12):
    os.mkdir(f'closed-{{number}}')
    fill(f'closed-{{number}}/file').close()
    os.chmod(f'closed-{{number}}', 0)
time.sleep(10)
"""
LONG_PATH = f"""
import os, time
{FILL}
for _ in range(30):
    os.mkdir('d' * 200)
    os.chdir('d' * 200)
for number in range(12):
    fill(f'far-{{number}}').close()
time.sleep(10)
"""
BOTTOMLESS = """
import os, time
for _ in range(300):
    os.mkdir('d')
    os.chdir('d')
time.sleep(10)
"""
AT_ONCE = f"{FILL}\nfor number in range(12):\n    fill(f'quick-{{number}}').close()\n"
UNDUMPABLE = """
import ctypes, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
time.sleep(10)
"""
CHILDREN = """
import os, time
began = time.monotonic()
while time.monotonic() - began < 15:
    child = os.fork()
    if child == 0:
        until = time.monotonic() + 0.01
        while time.monotonic() < until:
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
    with usable(request.param).session(LIMITS) as made:
        yield made


@pytest.fixture
def landlock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """Give a session whose files lie on a disk of the host."""
    monkeypatch.setattr(cgroups, "_parents", lambda: {})
    with usable("landlock").session(LIMITS) as made:
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
    began = time.monotonic()
    assert landlock.run_python(source).limit == limit
    assert time.monotonic() - began < 10
    landlock.reset()
    assert landlock.run_python("print(1)").output == "1\n"


def test_mode_of_a_counted_folder_is_unchanged(landlock: Session) -> None:
    source = "import os, time\nos.mkdir('a')\nos.chmod('a', 0)\ntime.sleep(1)\nprint(oct(os.stat('a').st_mode & 0o777))"
    assert landlock.run_python(source).output == "0o0\n"


def test_cpu_time_of_short_lived_children_counts(session: Session) -> None:
    result = session.run_python(CHILDREN)
    assert result.limit == "cpu"
    assert 2 <= result.cpu_s < 3.5


@pytest.mark.parametrize(
    ("work", "limit"),
    [
        (
            f"{FILL}\ndef work():\n    time.sleep(0.3)\n    for n in range(12):\n        fill(f'f{{n}}').close()\n",
            "disk",
        ),
        ("def work():\n    global kept\n    time.sleep(0.3)\n    kept = bytearray(b'x') * (400 << 20)\n", "memory"),
        ("def work():\n    time.sleep(0.3)\n    while True:\n        pass\n", "cpu"),
    ],
    ids=["disk", "memory", "cpu"],
)
def test_work_between_turns_counts(landlock: Session, work: str, limit: str) -> None:
    landlock.open(f"{ECHO.format(start='threading.Thread(target=work, daemon=True).start()', work=work)}")
    assert landlock.talk("first").line == "first"
    time.sleep(4)
    assert landlock.talk("second").limit == limit
    with pytest.raises(CairnError, match="no program is open"):
        landlock.talk("third")
    landlock.reset()
    landlock.open(ECHO.format(start="", work=""))
    assert landlock.talk("again").line == "again"


def test_an_idle_program_stays_open(session: Session) -> None:
    session.open(ECHO.format(start="", work=""))
    assert session.talk("first").line == "first"
    time.sleep(1)
    answer = session.talk("second")
    assert (answer.line, answer.limit) == ("second", None)
    assert answer.cpu_s < 0.2
