"""Contract of every kind of sandbox that works here: results, limits, files, open programs, clean ends."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cairn.core.errors import CairnError
from cairn.sandboxes.base import FileRefused, Limits, Sandbox, Session
from cairn.sandboxes.container import docker_engine
from cairn.sandboxes.kinds.bubblewrap import Bubblewrap, BubblewrapConfig
from cairn.sandboxes.kinds.docker import Docker, DockerConfig
from cairn.sandboxes.kinds.landlock import Landlock, LandlockConfig
from cairn.sandboxes.kinds.process import Process, ProcessConfig
from cairn.sandboxes.pool import SessionPool
from cairn.sandboxes.records import Entry, LimitName
from tests.interrupts import interrupted_when
from tests.sampling import sampled_params
from tests.sandboxes.remote.serving import Server

pytestmark = pytest.mark.rotating(2)

MIB = 1 << 20
LIMITS = Limits(
    wall_s=8,
    cpu_s=0.6,
    memory_bytes=128 * MIB,
    processes=16,
    file_bytes=MIB,
    disk_bytes=4 * MIB,
    files=200,
    output_bytes=1 << 16,
)


def docker(request: pytest.FixtureRequest) -> Sandbox:
    config = request.getfixturevalue("container_config")
    assert isinstance(config, DockerConfig)
    return Docker(config)


def remote(request: pytest.FixtureRequest) -> Sandbox:
    server = request.getfixturevalue("server")
    assert isinstance(server, Server)
    return server.remote()


MAKERS: dict[str, Callable[[pytest.FixtureRequest], Sandbox]] = {
    "bubblewrap": lambda _: Bubblewrap(BubblewrapConfig()),
    "landlock": lambda _: Landlock(LandlockConfig()),
    "process": lambda _: Process(ProcessConfig(trusted=True)),
    "docker": docker,
    "remote": remote,
}
KINDS = [pytest.param(name, marks=pytest.mark.xdist_group(f"sandbox-{name}")) for name in MAKERS]
SOME_KINDS = [
    pytest.param(*kind.values, marks=[*kind.marks, *rotating.marks])
    for kind, rotating in zip(KINDS, sampled_params(MAKERS, parts=3), strict=True)
]
in_some_kinds = pytest.mark.parametrize("sandbox", SOME_KINDS, indirect=True, scope="module")  # for tests that wait


@pytest.fixture(scope="module", params=KINDS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    made = MAKERS[request.param](request)
    if (problem := made.problem()) is not None:
        pytest.skip(problem)
    yield made
    made.close()


@pytest.fixture(scope="module")
def lasting(sandbox: Sandbox) -> Iterator[Session]:
    with sandbox.session(LIMITS) as session:
        yield session


@pytest.fixture
def session(lasting: Session) -> Session:
    lasting.reset()
    return lasting


# -- results -----------------------------------------------------------------------------------------------------------


def test_a_program_that_exits_returns_its_code_and_both_of_its_outputs(session: Session) -> None:
    result = session.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (result.exit_code, result.signal, result.limit, result.is_ok) == (3, None, None, False)
    assert (result.stdout, result.stderr, result.output) == (b"out\n", b"err\n", "out\nerr\n")
    assert (result.line, result.is_lost) == (None, False)
    assert 0 < result.wall_s < 60


def test_source_runs_as_python_does(session: Session) -> None:
    assert session.run_python("print(6 * 7)").stdout == b"42\n"
    assert session.run_python("import sys; sys.exit(5)").exit_code == 5
    failed = session.run_python("x = 1\nx / 0")
    assert failed.exit_code == 1
    assert failed.stderr.decode().splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert b"line 2" in failed.stderr
    assert b"supervisor" not in failed.stderr


def test_nothing_of_one_source_is_left_for_the_next(session: Session) -> None:
    assert session.run_python("import builtins, json; builtins.left = json.left = 1").is_ok
    assert session.run_python(
        "import builtins, json; print(hasattr(builtins, 'left'), hasattr(json, 'left'))"
    ).stdout == (b"False False\n")


def test_a_program_ended_by_a_signal_returns_the_signal_and_no_exit_code(session: Session) -> None:
    for number in (9, 15):
        result = session.run(["sh", "-c", f"kill -{number} $$"])
        assert (result.exit_code, result.signal, result.limit) == (None, number, None)


def test_a_command_that_is_not_there_exits_with_127(session: Session) -> None:
    result = session.run(["no-such-command"])
    assert (result.exit_code, result.stderr) == (127, b"no-such-command: No such file or directory\n")


def test_standard_input_arrives_whole_and_every_byte_is_returned(session: Session) -> None:
    sent = os.urandom(3 * MIB)
    code = "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    assert session.run_python(code, stdin=sent).stdout.decode().strip() == hashlib.sha256(sent).hexdigest()
    every = bytes(range(256)) * 64
    assert session.run(["cat"], stdin=every).stdout == every
    assert session.run(["cat"]).stdout == b""
    assert session.run(["true"], stdin=sent).is_ok  # one that reads nothing


def test_programs_see_their_own_environment_and_not_that_of_the_host_process(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_SECRET", "hidden")
    seen = dict(line.split("=", 1) for line in session.run(["env"], env={"EXTRA": "1"}).stdout.decode().splitlines())
    assert (seen["HOME"], seen["EXTRA"]) == (session.home, "1")
    assert {"PATH", "LANG"} <= set(seen)
    assert "CAIRN_SECRET" not in seen
    code = "import json, os; print(json.dumps([os.getcwd(), dict(os.environ)]))"
    folder, env = json.loads(session.run_python(code, env={"EXTRA": "2"}).stdout)
    assert (folder, env["HOME"], env["EXTRA"]) == (session.home, session.home, "2")
    assert "CAIRN_SECRET" not in env


def test_processes_that_a_program_started_end_with_it(session: Session) -> None:
    mark = f"9{time.time_ns() % 10**7}.25"
    assert session.run(["sh", "-c", f"sleep {mark} & exit 0"]).is_ok
    detached = f"import os\nif os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '{mark}'])"
    assert session.run_python(detached).is_ok
    assert running(f"sleep {mark}") == []


# -- limits ------------------------------------------------------------------------------------------------------------

REACHING: dict[LimitName, str] = {
    "wall": "import time; time.sleep(60)",
    "cpu": "while True: pass",
    "memory": "import time; held = [b'x' * (16 << 20) for _ in range(16)]; time.sleep(60)",
    "processes": "import os, time\nfor _ in range(40):\n    if os.fork() == 0: time.sleep(60)\nraise SystemExit(1)",
    "file": "open('large', 'wb').write(bytes(2 << 20))",
    "disk": "import time\nfor i in range(10): open(str(i), 'wb').write(bytes(900 << 10))\ntime.sleep(60)",
    "files": "import time\nfor i in range(400): open(str(i), 'wb').close()\ntime.sleep(60)",
    "output": "while True: print('x' * 1000)",
}


@pytest.mark.parametrize("name", REACHING)
def test_a_reached_limit_is_reported_by_its_name_and_the_session_continues(session: Session, name: LimitName) -> None:
    # A limit that is noticed too late is reported as "wall": the programs that could end by themselves sleep longer.
    result = session.run_python(REACHING[name], wall_s=0.4 if name == "wall" else None)
    assert (result.limit, result.is_ok) == (name, False), result
    assert len(result.stdout) <= LIMITS.output_bytes
    assert not result.is_lost
    session.reset()
    assert session.run_python("print(1)").stdout == b"1\n"
    assert session.list_files() == ()


# Busy loops and the programs that compete with them use this one processor; the other processors stay free.
PINNED = f"import os\nos.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\n"


@contextlib.contextmanager
def busy_processor() -> Iterator[None]:
    """Run three busy loops on one processor, so that a program there gets about a quarter of its time."""
    command = [sys.executable, "-c", f"{PINNED}print(flush=True)\nwhile True: pass"]
    with contextlib.ExitStack() as ending:
        for _ in range(3):
            loop = ending.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True))
            ending.callback(loop.kill)
            assert loop.stdout is not None
            loop.stdout.readline()  # it is on its processor
        yield


SPINNING = f"{PINNED}import time\nwhile time.process_time() < 0.2: pass\nprint('done')\n"
SPINNING_ON_REQUEST = f"wire = open(3, 'r+b', buffering=0)\nwire.readline()\n{SPINNING}wire.write(b'x\\n')"


@in_some_kinds
def test_time_without_a_processor_does_not_count(session: Session) -> None:
    session.start_program(SPINNING_ON_REQUEST)
    with busy_processor():
        results = session.run_python(SPINNING, wall_s=0.4), session.send_line("go", wall_s=0.4)
    for result in results:
        assert result.limit is None, result
        assert result.wall_s > 0.4
        assert 0.1 < result.waited_s < result.wall_s
    assert (results[0].stdout, results[1].line) == (b"done\n", "x")


@in_some_kinds
def test_on_a_busy_machine_the_limit_is_still_the_limit(session: Session) -> None:
    with busy_processor():
        endless = session.run_python(f"{PINNED}while True: pass", wall_s=0.3)
        asleep = session.run_python(f"{PINNED}import time; time.sleep(60)", wall_s=0.3)
    assert (endless.limit, asleep.limit) == ("wall", "wall")
    assert 0.05 < endless.cpu_s < 2
    assert asleep.wall_s < 3  # a program that waits for a processor may take ten times its limit


@in_some_kinds
def test_programs_that_keep_each_other_waiting_win_no_time(session: Session) -> None:
    result = session.run_python(f"{PINNED}os.fork(), os.fork(), os.fork()\nwhile True: pass", wall_s=0.3)
    assert result.limit == "wall"
    assert result.cpu_s < 2  # by the clock alone they would get 3 s
    assert result.waited_s > 0.1


def test_within_the_limits_none_is_reported(session: Session) -> None:
    code = (
        "held = bytearray(48 << 20)\nfor i in range(3): open(str(i), 'wb').write(bytes(900 << 10))\nprint('x' * 60000)"
    )
    result = session.run_python(code)
    assert (result.limit, result.exit_code, len(result.stdout)) == (None, 0, 60001), result


def test_a_program_that_fails_within_its_limits_reports_none(session: Session) -> None:
    assert session.run_python("raise ValueError").limit is None


# -- files -------------------------------------------------------------------------------------------------------------


def test_files_go_in_and_out_and_programs_see_them(session: Session) -> None:
    every = bytes(range(256))
    session.write_file("a/b/data.bin", every)
    session.write_file("run.sh", "#!/bin/sh\ncat a/b/data.bin; echo made > made\n", mode=0o755)
    assert session.run(["./run.sh"]).stdout == every
    assert (session.read_file("a/b/data.bin"), session.read_file("made")) == (every, b"made\n")
    assert session.list_files() == (
        Entry(path="a", kind="folder", size=0, mode=0o755),
        Entry(path="a/b", kind="folder", size=0, mode=0o755),
        Entry(path="a/b/data.bin", kind="file", size=256, mode=0o644),
        Entry(path="made", kind="file", size=5, mode=0o644),
        Entry(path="run.sh", kind="file", size=45, mode=0o755),
    )
    session.remove("a")
    session.remove("made")
    assert [entry.path for entry in session.list_files()] == ["run.sh"]


@pytest.mark.parametrize("path", ["", ".", "..", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/.", "a\0b"])
def test_a_path_that_leads_elsewhere_is_refused(session: Session, path: str) -> None:
    for request in (session.read_file, session.remove, lambda path: session.write_file(path, b"x")):
        with pytest.raises(FileRefused):
            request(path)
    assert session.list_files() == ()


# The folder is outside the work folder and inside the sandbox, where a request that follows a link does visible damage.
LINKS = """
import os, tempfile
canary = os.path.join(tempfile.gettempdir(), "canary")
os.mkdir(canary)
with open(os.path.join(canary, "passwd"), "w") as file:
    file.write("kept")
os.symlink(os.path.join(canary, "passwd"), "out")
os.symlink(canary, "folder")
os.symlink("target", "near")
"""
READ_CANARY = """
import os, tempfile
canary = os.path.join(tempfile.gettempdir(), "canary")
print(os.listdir(canary), open(os.path.join(canary, "passwd")).read())
"""


def test_links_are_neither_followed_nor_written_through(session: Session) -> None:
    session.write_file("target", b"kept")
    assert session.run_python(LINKS).is_ok
    for path in ("out", "folder/passwd", "near"):
        with pytest.raises(FileRefused):
            session.read_file(path)
    with pytest.raises(FileRefused):
        session.write_file("folder/x", b"x")
    session.write_file("near", b"new")
    assert (session.read_file("near"), session.read_file("target")) == (b"new", b"kept")
    assert {entry.path: entry.kind for entry in session.list_files()} == {
        "folder": "link", "near": "file", "out": "link", "target": "file"
    }  # fmt: skip
    session.write_file("out", b"new")
    session.remove("folder")
    assert session.run_python(READ_CANARY).output == "['passwd'] kept\n"


def test_a_pipe_in_the_way_holds_nothing_up(session: Session) -> None:
    assert session.run(["mkfifo", "pipe"]).is_ok
    with pytest.raises(FileRefused, match="not a regular file"):
        session.read_file("pipe")
    assert session.list_files() == (Entry(path="pipe", kind="other", size=0, mode=0o644),)
    assert session.snapshot().entries == ()
    session.write_file("pipe", b"file")
    assert session.read_file("pipe") == b"file"


def test_files_that_are_too_long_are_rejected(session: Session) -> None:
    with pytest.raises(FileRefused, match="may have"):
        session.write_file("x", bytes(LIMITS.file_bytes + 1))
    session.write_file("x", bytes(1000))
    with pytest.raises(FileRefused, match="limit is 999"):
        session.read_file("x", max_bytes=999)
    assert session.read_file("x", max_bytes=1000) == bytes(1000)


def test_a_snapshot_brings_everything_back_here_and_elsewhere(sandbox: Sandbox, session: Session) -> None:
    session.write_file("a/one", os.urandom(5000))
    session.write_file("tool", "#!/bin/sh\n", mode=0o755)
    assert session.run(["ln", "-s", "a/one", "link"]).is_ok
    whole, digest, listed = session.snapshot(), session.digest(), session.list_files()
    session.write_file("tool", "#!/bin/sh\n", mode=0o644)
    assert session.digest() != digest
    session.remove("a")
    session.write_file("extra", b"")
    session.restore(whole)
    assert (session.digest(), session.list_files()) == (digest, listed)
    with sandbox.session(LIMITS) as other:
        other.restore(whole)
        assert (other.digest(), other.read_file("a/one")) == (digest, session.read_file("a/one"))


# -- the open program --------------------------------------------------------------------------------------------------

COUNTER = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
with os.fdopen(3, 'r+b', buffering=0) as line:
    total = 0
    while said := line.readline():
        try:
            if said.strip() == b'sleep':
                time.sleep(60)
            if said.strip() == b'die':
                sys.exit(4)
            total += int(said)
            print('heard', total, flush=True)
        except KeyboardInterrupt:
            line.write(b'interrupted\\n')
        else:
            line.write(b'%d\\n' % total)
"""


def test_an_open_program_keeps_its_state_and_other_runs_leave_it_alone(session: Session) -> None:
    session.start_program(COUNTER)
    assert [session.send_line("5").line, session.send_line("6").line] == ["5", "11"]
    assert session.run_python("print('beside')").stdout == b"beside\n"
    answer = session.send_line("1")
    assert (answer.line, answer.stdout, answer.exit_code, answer.limit) == ("12", b"heard 12\n", None, None)
    session.stop_program()
    with pytest.raises(CairnError, match="no program is open"):
        session.send_line("1")


def test_an_open_program_beyond_its_time_limit_is_interrupted_and_keeps_its_state(session: Session) -> None:
    session.start_program(COUNTER)
    assert session.send_line("5").line == "5"
    late = session.send_line("sleep", wall_s=0.3)
    assert (late.line, late.limit, late.exit_code) == ("interrupted", "wall", None)
    assert session.send_line("1").line == "6"


TICKING = """
import threading, time
ticks = 0

def tick():
    global ticks
    while True:
        ticks += 1
        time.sleep(1e-3)

threading.Thread(target=tick, daemon=True).start()
with open(3, 'r+b', buffering=0) as line:
    while said := line.readline():
        found = ticks
        if said == b'pause\\n':
            time.sleep(0.2)
        line.write(b'%d %d\\n' % (found, ticks))
"""


def test_an_open_program_runs_only_in_its_turns(session: Session) -> None:
    session.start_program(TICKING)
    time.sleep(0.3)
    before, after = map(int, (session.send_line("pause").line or "").split())
    assert before < 50  # it begins with its first turn
    assert after - before > 20
    for between in (lambda: time.sleep(0.3), lambda: session.run(["sleep", "0.3"])):
        between()
        now = int((session.send_line("say").line or "").split()[0])
        assert now - after < 50
        after = now


def test_no_other_program_resumes_the_open_one(session: Session) -> None:
    session.start_program(TICKING)
    before = int((session.send_line("say").line or "").split()[1])
    session.run(["sh", "-c", "kill -CONT -1"])
    time.sleep(0.3)
    assert int((session.send_line("say").line or "").split()[0]) - before < 100


@in_some_kinds
def test_an_open_program_that_does_not_listen_is_killed(session: Session) -> None:
    session.start_program(["sleep", "60"])
    late = session.send_line("x", wall_s=0.2)
    assert (late.line, late.limit, late.signal) == (None, "wall", 2)
    ignoring = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(1)"
    session.start_program(ignoring)
    late = session.send_line("x", wall_s=0.3)
    assert (late.line, late.limit, late.signal) == (None, "wall", 9)


def test_the_end_of_an_open_program_is_reported(session: Session) -> None:
    session.start_program(COUNTER)
    ended = session.send_line("die")
    assert (ended.line, ended.exit_code, ended.limit) == (None, 4, None)


# -- clean ends --------------------------------------------------------------------------------------------------------

LEAVE = """
import os, pathlib
for place in (os.getcwd(), os.environ.get('TMPDIR', '/tmp'), '/dev/shm'):
    try:
        deep = pathlib.Path(place, 'deep', *'abcdef')
        deep.mkdir(parents=True)
    except OSError:
        continue  # /dev/shm, where a kind closes it
    (deep / 'file').write_text('x')
    os.chmod(deep, 0)
    os.mkfifo(place + '/pipe')
    os.symlink(CANARY, place + '/link')
"""
LOOK = """
import os
for place in (os.getcwd(), os.environ.get('TMPDIR', '/tmp'), '/dev/shm'):
    try:
        print(*(name for name in os.listdir(place) if name in ('deep', 'pipe', 'link')), end='')
    except OSError:
        continue
"""


@pytest.fixture
def canary() -> Iterator[Path]:
    """Give a folder of the host that every user can write to, and check that its file survives."""
    with tempfile.TemporaryDirectory(prefix="cairn-canary-") as name:
        folder = Path(name)
        (folder / "file").write_text("kept")
        folder.chmod(0o777)
        (folder / "file").chmod(0o666)
        yield folder
        assert [path.name for path in folder.iterdir()] == ["file"]
        assert (folder / "file").read_text() == "kept"


def test_a_reset_leaves_no_file_no_process_and_no_open_program(
    session: Session, sandbox: Sandbox, canary: Path
) -> None:
    mark = f"8{time.time_ns() % 10**7}.25"
    # Trusted programs share /dev/shm with their user, and nobody empties it.
    leave = LEAVE.replace(", '/dev/shm'", "") if sandbox.name == "process" else LEAVE
    leads_to = str(canary) if sandbox.name in ("process", "landlock") else "/etc"  # the others hide the host's folders
    leave = f"CANARY = {leads_to!r}\n{leave}"
    waiting = start_waiting(session, mark)
    assert session.run_python(leave).is_ok
    assert session.run_python(LOOK).stdout.count(b"deep") >= 2
    assert running(waiting)
    session.reset()
    assert session.list_files() == ()
    assert session.run_python(LOOK).stdout == b""
    assert running(waiting) == []
    with pytest.raises(CairnError, match="no program is open"):
        session.send_line("x")


def test_closing_leaves_no_process_no_folder_and_no_container(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # places have users of their own
        monkeypatch.setattr(tempfile, "tempdir", folder)
        mark, before = f"7{time.time_ns() % 10**7}.25", traces(sandbox, folder)
        session = sandbox.session(LIMITS)
        waiting = start_waiting(session, mark)
        session.write_file("x", b"x")
        assert running(waiting)
        assert len(traces(sandbox, folder)) > len(before)
        session.close()
        session.close()
        assert running(waiting) == []
        assert traces(sandbox, folder) == before
    with pytest.raises(CairnError, match="closed"):
        session.run(["true"])


def start_waiting(session: Session, mark: str) -> str:
    """Start a program that stays open and has had a turn; return its command line."""
    script = f"read line <&3; echo here >&3; read line <&3; # {mark}"
    session.start_program(["sh", "-c", script])
    assert session.send_line("go").line == "here"
    return f"sh -c {script}"


def test_after_an_interrupted_request_no_answer_is_that_of_another(sandbox: Sandbox) -> None:
    pool = SessionPool(sandbox, LIMITS)
    first = pool.take()
    with interrupted_when(lambda: first._is_asking):
        first.run(["sh", "-c", "sleep 0.2; echo first"])
    with pytest.raises(CairnError, match="closed"):
        first.run(["echo", "second"])
    pool.give_back(first)
    assert pool.discarded == 1
    with pool.lease() as second:
        assert second is not first
        assert second.run(["echo", "third"]).stdout == b"third\n"
    pool.close()


def running(command: str) -> list[int]:
    """Return the processes of this machine whose command line this is."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "cmdline").read_bytes().replace(b"\0", b" ").strip() == command.encode():
                found.append(int(folder.name))
    return found


def traces(sandbox: Sandbox, folder: str) -> list[str]:
    """Return the traces of this process on this machine: processes below it, folders, containers."""
    found = [f"process {pid}" for pid in below(os.getpid())]
    found += os.listdir(folder)
    if isinstance(sandbox, Docker):
        with contextlib.closing(docker_engine.connect()) as engine:
            found += [container["Id"] for container in engine.containers(all=True)]
    return sorted(found)


def below(pid: int) -> list[int]:
    """Return the processes that a process has started, and they in turn."""
    children: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            children += map(int, (thread / "children").read_text().split())
    return [one for child in children for one in (child, *below(child))]
