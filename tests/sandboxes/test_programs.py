"""Programs in sessions of every kind: their output, their ends, and cleanup."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

from cairn.core.errors import CairnError
from cairn.sandboxes.base import Limits, Session
from cairn.sandboxes.supervisor_source import INSIDE
from tests.sandboxes.usable import SETTINGS, usable

pytestmark = pytest.mark.rotating(4)

LIMITS = Limits(wall_s=5, output_bytes=1 << 16, memory_bytes=64 << 20, file_bytes=4 << 20, processes=32)


@pytest.fixture(scope="module", params=SETTINGS)
def shared(request: pytest.FixtureRequest) -> Iterator[Session]:
    with usable(request.param).session(LIMITS) as session:
        yield session


@pytest.fixture
def session(shared: Session) -> Session:
    shared.reset()
    return shared


def test_output_exit_status_and_signals(session: Session) -> None:
    done = session.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.stdout, done.stderr, done.exit_code, done.signal, done.limit) == (b"out\n", b"err\n", 3, None, None)
    killed = session.run(["sh", "-c", "kill -SEGV $$"])
    assert (killed.exit_code, killed.signal, killed.limit) == (None, 11, None)
    assert session.run(["no-such-program"]).exit_code == 127
    assert b"no-such-program: No such file" in session.run(["no-such-program"]).stderr


def test_a_program_may_have_modules_of_the_supervisors_names(session: Session) -> None:
    names = sorted(file.stem for file in INSIDE.glob("*.py") if file.stem != "__init__")
    assert {"disk", "files", "supervisor"} < set(names)
    for name in names:
        session.write_file(f"{name}.py", b"own = 1")
    result = session.run_python(f"import importlib\nprint(sum(importlib.import_module(each).own for each in {names}))")
    assert result.output == f"{len(names)}\n"


def test_output_that_is_not_text(session: Session) -> None:
    every = bytes(range(256))
    done = session.run(["cat"], stdin=every * 100)
    assert done.stdout == every * 100
    assert "\ufffd" in done.output
    assert (
        session.run_python("import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])", stdin=every).stdout
        == (every[::-1])
    )


def test_unread_input_and_missing_input_do_not_block(session: Session) -> None:
    assert session.run(["true"], stdin=b"x" * (1 << 20)).is_ok
    assert session.run(["cat"]).stdout == b""  # without input it reads nothing, rather than the host's input


@pytest.mark.parametrize(
    ("source", "status", "out", "err"),
    [
        ("print(__name__, __file__ if '__file__' in globals() else None)", 0, "__main__ None\n", ""),
        ("raise SystemExit", 0, "", ""),
        ("exit(4)", 4, "", ""),
        ("import sys; sys.exit('bye')", 1, "", "bye\n"),
        ("import sys; sys.exit(256 + 7)", 7, "", ""),
        ("import atexit; atexit.register(print, 'last'); print('first')", 0, "first\nlast\n", ""),
        ("import threading; threading.Thread(target=print, args=('thread',)).start()", 0, "thread\n", ""),
        ("import os; os._exit(9)", 9, "", ""),
        ("print(input())", 1, "", "EOFError"),
        ("def f():\n    return 1 / 0\nf()", 1, "", 'File "<program>", line 2, in f\n    return 1 / 0'),
        ("f(", 1, "", "SyntaxError"),
        ("import os; print(sorted(k for k in os.environ if 'PYTHON' not in k))", 0, "['HOME', 'LANG', 'PATH'", ""),
        ("import programs", 1, "", "ModuleNotFoundError"),
        ("print(hash('a') == hash('a'), {'b', 'a', 'c'})", 0, "True {", ""),
    ],
)
def test_python_ends_as_python_does(session: Session, source: str, status: int, out: str, err: str) -> None:
    done = session.run_python(source)
    assert done.exit_code == status
    assert done.stdout.decode().startswith(out)
    assert err in done.stderr.decode()
    assert "supervisor" not in done.stderr.decode()


def test_equal_programs_print_equal_sets(session: Session) -> None:
    """Hashes of text do not vary from process to process."""
    source = "print({str(i) for i in range(50)})"
    assert len({session.run_python(source).stdout, session.run(["python3", "-c", source]).stdout}) == 1


def test_nothing_of_the_hosts_environment(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_TEST_TOKEN", "secret")
    assert "secret" not in session.run(["env"]).output
    assert "extra=1" in session.run(["env"], env={"extra": "1"}).output


@pytest.mark.parametrize(
    ("source", "limit"),
    [
        ("while True: pass", "wall"),
        ("import time; time.sleep(60)", "wall"),
        ("import os\nwhile True: os.write(1, b'x' * 4096)", "output"),
        ("kept = [bytearray(16 << 20) for _ in range(8)]\nimport time; time.sleep(60)", "memory"),
        ("open('f', 'wb').write(bytes(5 << 20))", "file"),
    ],
)
def test_limits_are_reported_by_name(session: Session, source: str, limit: str) -> None:
    done = session.run_python(source, wall_s=0.4 if limit == "wall" else None)
    assert done.limit == limit
    assert not done.is_ok
    assert len(done.stdout) <= LIMITS.output_bytes
    assert session.run_python("print(1)").is_ok  # and the session continues


def test_times_and_memory_are_reported(session: Session) -> None:
    done = session.run_python("kept = bytearray(24 << 20)\nimport time\nend = time.process_time() + 0.2\n"
                              "while time.process_time() < end: pass\ntime.sleep(0.3)")  # fmt: skip
    assert 0.5 <= done.wall_s < 50
    assert 0.2 <= done.cpu_s < 2
    assert 24 << 20 <= done.peak_memory_bytes < 64 << 20


@pytest.mark.parametrize("name", SETTINGS)
def test_a_wall_limit_above_the_sessions_is_cut(name: str) -> None:
    with usable(name).session(Limits(wall_s=0.3)) as session:
        done = session.run(["sleep", "30"], wall_s=600)  # under the longer limit it would end by itself
    assert done.limit == "wall"
    assert done.wall_s >= 0.3


def test_processes_that_a_program_started_end_with_it(session: Session) -> None:
    script = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.5)
        open("late", "w").close()
"""
    assert session.run_python(script).is_ok
    assert session.run(["sleep", "0.8"]).is_ok
    assert session.list_files() == ()


def test_closed_sessions_and_invalid_sandboxes_raise_errors() -> None:
    session = usable("bubblewrap").session()
    session.close()
    session.close()
    with pytest.raises(CairnError, match="closed; open another"):
        session.run(["true"])


def test_closing_leaves_nothing() -> None:
    before = _folders()
    session = usable("landlock").session(LIMITS)
    assert _folders() > before
    session.run(["sh", "-c", "sleep 100 & mkdir -p a/b/c; echo x > a/b/c/d; chmod 0 a/b"])
    session.close()
    assert _folders() == before


def _folders() -> set[str]:
    """Return the folders of this process's sessions, those of other tests too."""
    return {name for name in os.listdir(tempfile.gettempdir()) if name.startswith(f"cairn-sandbox-{os.getpid()}-")}


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
def test_files_in_memory_are_refused(kind: str) -> None:
    """They belong to no process, so only a control group would count them."""
    with usable(kind).session(LIMITS) as session:
        done = session.run(["python3", "-c", "import os; os.memfd_create('fill')"])
    assert b"Function not implemented" in done.stderr
