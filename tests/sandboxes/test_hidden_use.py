"""Limits count the use that programs hide: unlinked files, odd folders, short-lived children, many short turns."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from cairn.core.errors import CairnError
from cairn.sandboxes.base import Limits, Session
from cairn.sandboxes.local import cgroups, folder_place
from cairn.sandboxes.local.place import LocalPlace
from tests.sandboxes.usable import usable

pytestmark = pytest.mark.rotating(4)

LIMITS = Limits(disk_bytes=32 << 20, file_bytes=16 << 20, memory_bytes=256 << 20, files=500, cpu_s=2, wall_s=60)
LITTLE_CPU = LIMITS.model_copy(update={"cpu_s": 0.5})
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
SHORT_TURNS = """
import os
kept, number = [], 0
with os.fdopen(3, 'r+b', 0) as control:
    while control.readline():
        number += 1
        WORK
        control.write(b'done\\n')
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
    ("work", "limit"),
    [
        ("open(f'f{number}', 'wb').write(bytes(1 << 20))", "disk"),
        ("kept.append(bytearray(b'x') * (4 << 20))", "memory"),
    ],
    ids=["disk", "memory"],
)
def test_use_in_many_short_turns_counts(landlock: Session, work: str, limit: str) -> None:
    """Each turn is shorter than the time between two looks."""
    landlock.start_program(SHORT_TURNS.replace("WORK", work))
    results = [landlock.send_line("go")]
    while results[-1].limit is None:
        assert len(results) < 400, "the use of short turns does not count"
        results.append(landlock.send_line("go"))
    assert results[-1].limit == limit
    assert len(results) > 5
    with pytest.raises(CairnError, match="no program is open"):
        landlock.send_line("go")


FAMILY = """
import os, time
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
    else:
        with open('member', 'w') as file:
            file.write(str(os.getpid()))
    while True:
        with open('ticks', 'ab') as file:
            file.write(b'.')
        time.sleep(1e-3)
with os.fdopen(3, 'r+b', 0) as control:
    while control.readline():
        time.sleep(0.1)
        control.write(b'done\\n')
"""


@pytest.mark.parametrize("has_own_user", [True, False])
def test_all_that_a_program_has_started_is_stopped_between_its_turns(
    has_own_user: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`has_own_user` False: as where an ordinary user starts sessions of kind `process`."""
    monkeypatch.setattr(
        folder_place, "LocalPlace", lambda *args, **more: LocalPlace(*args, **{**more, "has_own_user": has_own_user})
    )
    with usable("landlock").session(LIMITS) as session:
        session.start_program(FAMILY)
        sizes = [0]
        for _ in range(3):
            assert session.send_line("go").line == "done"
            sizes.append(len(session.read_file("ticks")))
            time.sleep(0.2)
            assert len(session.read_file("ticks")) == sizes[-1]
    assert sizes == sorted(set(sizes))


def test_a_member_of_a_stopped_program_may_be_killed(landlock: Session) -> None:
    """As the kernel does when the machine has no memory left; its parent is stopped and cannot wait for it."""
    landlock.start_program(FAMILY)
    assert landlock.send_line("first").line == "done"
    before = len(landlock.read_file("ticks"))
    os.kill(int(landlock.read_file("member")), signal.SIGKILL)
    answer = landlock.send_line("next")
    assert (answer.line, answer.limit) == ("done", None)
    assert len(landlock.read_file("ticks")) > before  # the member's child continues
    assert landlock.run(["true"]).exit_code == 0  # its end kills the others that the program has started
    assert landlock.send_line("last").line == "done"


def test_an_idle_program_stays_open(session: Session) -> None:
    session.start_program(SHORT_TURNS.replace("WORK", "pass"))
    assert session.send_line("first").line == "done"
    time.sleep(1)
    answer = session.send_line("second")
    assert (answer.line, answer.limit) == ("done", None)
    assert answer.cpu_s < 0.2
