"""A place that fails after a program ran in it is the program's failure; before that, and on a broken machine, ours."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from cairn.core.errors import CairnError, SandboxFailure
from cairn.sandboxes import base, wire
from cairn.sandboxes.base import FileRefused, Launcher, Limits, Session
from cairn.sandboxes.interpreter import Interpreter
from cairn.sandboxes.local.place import LocalPlace
from cairn.sandboxes.sandbox_process import SandboxProcess
from tests.processes import has_ended
from tests.sandboxes.remote.serving import Server, server
from tests.sandboxes.usable import usable

pytestmark = pytest.mark.rotating(4)

REPLACED = "The sandbox failed because of a program in it, and an empty one has replaced it"
USES: dict[str, Callable[[Session], object]] = {
    "write": lambda session: session.write_file("a", "b"),
    "list": Session.list_files,
    "digest": Session.digest,
    "snapshot": Session.snapshot,
    "open": lambda session: session.start_program("pass"),
    "shut": Session.stop_program,
    "warm": lambda session: session.warm(["json"]),
}


@pytest.fixture(params=["bubblewrap", "landlock"])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    with usable(request.param).session(Limits(wall_s=5)) as session:
        yield session


def break_place(session: Session) -> None:
    """Kill the supervisor, as a program must not be able to."""
    _process_of(session._place).kill()
    _process_of(session._place).wait()


def test_a_program_that_breaks_its_sandbox_has_a_result_and_the_next_finds_an_empty_one(session: Session) -> None:
    session.write_file("kept", "x")
    assert session.run_python("print(1)").is_ok
    break_place(session)
    result = session.run_python("print(1)")
    assert (result.is_lost, result.is_ok, result.signal) == (True, False, 9)
    assert result.output.startswith(REPLACED)
    assert session.list_files() == ()
    assert session.run_python("print(1)").stdout == b"1\n"


@pytest.mark.parametrize("use", USES)
def test_every_other_request_is_refused_once(session: Session, use: str) -> None:
    session.run(["true"])
    break_place(session)
    with pytest.raises(FileRefused, match=REPLACED):
        USES[use](session)
    USES[use](session)


def test_resetting_a_broken_sandbox_gives_an_empty_one(session: Session) -> None:
    session.run(["touch", "kept"])
    break_place(session)
    session.reset()
    assert session.list_files() == ()


def test_the_open_program_ends_with_its_sandbox(session: Session) -> None:
    interpreter = Interpreter(session)
    assert interpreter.run("x = 1").is_ok
    break_place(session)
    session.run(["true"])
    cell = interpreter.run("print(x)")
    assert (cell.is_ok, cell.error) == (False, "The interpreter ended by signal 9")
    assert interpreter.run("print(2)").stdout == b"2\n"


def test_a_sandbox_that_fails_before_any_program_is_a_failure_of_the_machine(session: Session) -> None:
    session.write_file("kept", "x")
    break_place(session)
    with pytest.raises(SandboxFailure, match="is gone"):
        session.list_files()
    with pytest.raises(CairnError, match="closed"):
        session.list_files()


def test_after_a_reset_no_program_has_run(session: Session) -> None:
    session.run(["true"])
    session.reset()
    break_place(session)
    with pytest.raises(SandboxFailure, match="is gone"):
        session.list_files()


def failing(limits: Limits) -> SandboxProcess:
    raise SandboxFailure("no sandbox starts here any more")


class Unhealthy:
    """Starts places in which no program can run."""

    def __init__(self, launch: Launcher) -> None:
        self.launch = launch
        self.places: list[SandboxProcess] = []

    def __call__(self, limits: Limits) -> SandboxProcess:
        place = self.launch(limits)
        self.places.append(place)
        request = place.request
        place.request = lambda message, blob, timeout_s: (  # type: ignore[method-assign]
            ({"error": "no processes are left"}, b"") if message["do"] == "run" else request(message, blob, timeout_s)
        )
        return place


def test_where_no_new_sandbox_starts_the_machine_failed(session: Session) -> None:
    session.run(["true"])
    break_place(session)
    session._launch = failing
    with pytest.raises(SandboxFailure, match="a new sandbox failed too: no sandbox starts here any more"):
        session.run(["true"])


def test_where_no_program_runs_in_a_new_sandbox_the_machine_failed(session: Session) -> None:
    session.run(["true"])
    break_place(session)
    session._launch = unhealthy = Unhealthy(session._launch)
    with pytest.raises(SandboxFailure, match=r"a new sandbox failed too: it cannot run an empty program.*no processes"):
        session.run(["true"])
    assert _process_of(unhealthy.places[0]).poll() is not None  # it was closed


def test_a_request_about_files_that_outlasts_its_time_is_the_programs(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.run_python("open('sparse', 'wb').truncate(31 << 20)")
    monkeypatch.setattr(base, "_FILES_S", 1e-4)
    with pytest.raises(FileRefused, match=REPLACED):
        session.digest()
    monkeypatch.undo()
    assert session.list_files() == ()


def test_an_answer_to_another_request_is_not_taken() -> None:
    with usable("bubblewrap").session(Limits(wall_s=5)) as session:
        session.run(["true"])
        place = session._place
        assert isinstance(place, LocalPlace)
        place._socket.sendall(wire.packed({"do": "list", "max_files": 5, "request_id": 7}, b""))
        assert session.run(["echo", "mine"]).is_lost
        assert session.last_loss == "it answered request 7, not 2"
        assert session.run(["echo", "mine"]).stdout == b"mine\n"


def test_a_request_that_the_supervisor_fails_at_is_the_programs(session: Session) -> None:
    session.run(["touch", "kept"])
    with pytest.raises(FileRefused, match=f"^{REPLACED}$"):
        session._ask("list")  # without its argument: a fault in the supervisor
    assert "TypeError" in str(session.last_loss)
    assert session.list_files() == ()


def test_a_lost_session_of_a_server_is_replaced_too(tmp_path: Path, server_kind: str) -> None:
    with server(tmp_path, kind=server_kind) as running, running.remote().session() as session:
        session.run(["touch", "kept"])
        _kill_places(running)
        assert session.run(["true"]).is_lost
        assert session.list_files() == ()
        session.reset()
        _kill_places(running)
        with pytest.raises(SandboxFailure, match="is gone"):
            session.list_files()


def test_a_server_that_ends_is_a_failure_of_the_machine(tmp_path: Path, server_kind: str) -> None:
    with server(tmp_path, kind=server_kind) as running, running.remote().session() as session:
        session.run(["true"])
        running.end()
        with pytest.raises(SandboxFailure):
            session.run(["true"])


def _process_of(place: Any) -> subprocess.Popen[bytes]:  # Any: a place of any kind on this machine
    local = getattr(place, "_place", place)
    process: subprocess.Popen[bytes] = local._process
    return process


def _kill_places(running: Server) -> None:
    """Kill the processes of all places of a server and wait for their end: a supervisor may answer until then."""
    processes = psutil.Process(running.process.pid).children(recursive=True)
    assert processes
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended with its parent
            process.kill()
    assert all(has_ended(process.pid) for process in processes)
