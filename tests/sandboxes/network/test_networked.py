"""A network by allow-list: faults that it survives, its limits, and the kinds of sandbox that have it."""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path

import pytest

from cairn.core.errors import CairnError, ConfigError, SandboxFailure
from cairn.sandboxes import destinations
from cairn.sandboxes.base import Limits, NoNetworkError, Sandbox, SandboxConfig, Session
from cairn.sandboxes.kinds.bubblewrap import Bubblewrap
from cairn.sandboxes.network import gateway as _gateway
from cairn.sandboxes.registry import new_sandbox
from tests.sandboxes.network.listening import LIMITS, NEVER, PRELUDE, Listener, networked, ran, wait_until
from tests.sandboxes.remote.serving import server
from tests.sandboxes.usable import usable

pytestmark = [pytest.mark.rotating(4), pytest.mark.xdist_group("sandbox-network")]


@pytest.fixture
def session(network_session: Session) -> Session:
    return network_session


# -- faults that it survives -------------------------------------------------------------------------------------------


def test_it_works_after_a_reset_which_forgets(session: Session, listed: Listener, other: Listener) -> None:
    ran(session, "")
    session.start_program(
        PRELUDE + f"get('http://{other.address}/'); open(3, 'w').write('refused\\n')\nwhile True: pass"
    )
    session.reset()
    result = ran(session, f"print(get('http://{listed.address}/again'))")
    assert (result.output, result.num_refused) == ("b'body of /again'\n", 0)


def test_programs_can_neither_end_nor_replace_it(session: Session, listed: Listener) -> None:
    program = """
import os, signal
for pid in (1, -1):
    for number in (15, 19, 11, 9):
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass
        if pid == 1:
            os.kill(pid, number)
for where in ("127.0.0.1", "0.0.0.0", "127.0.0.2", ""):
    with socket.socket() as mine:
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            mine.bind((where, 3128))
            mine.listen()
            print("bound", where)
        except OSError as error:
            print(error.strerror)
print(len([name for name in os.listdir("/proc") if name.isdigit()]))
"""
    said = session.run_python(PRELUDE + program).output.splitlines()
    assert said == [
        "Address already in use",
        "Address already in use",
        "bound 127.0.0.2",
        "Address already in use",
        "2",
    ]
    assert ran(session, f"print(get('http://{listed.address}/after'))").output == "b'body of /after'\n"


def test_sessions_with_different_lists_share_nothing(session: Session, listed: Listener, other: Listener) -> None:
    program = f"print(str(get('http://{listed.address}/'))[:4], str(get('http://{other.address}/'))[:4])"
    with networked(other.address).session(LIMITS) as another:
        results = [ran(session, program), ran(another, program)]
    assert [result.output for result in results] == ["b'bo 403 \n", "403  b'bo\n"]
    assert [result.refused for result in results] == [
        (f"{one.address}: it is not on the list",) for one in (other, listed)
    ]


def test_connections_end_with_their_programs(session: Session, listed: Listener) -> None:
    program = f"connection = way('GET http://{listed.address}/held'); print(connection.recv(4)); connection.detach()"
    assert ran(session, program).output == "b'held'\n"
    wait_until(lambda: listed.ended == ["/held"])


def test_the_open_program_keeps_its_connections_until_it_is_shut(session: Session, listed: Listener) -> None:
    program = f"kept = way('GET http://{listed.address}/held'); talk = open(3, 'r+b', 0)\n"
    session.start_program(PRELUDE + program + "while talk.readline(): talk.write(b'here\\n')")
    assert session.send_line("are you?").line == "here"
    wait_until(lambda: len(listed.visits) == 2)
    ran(session, f"get('http://{listed.address}/meanwhile')")
    assert listed.ended == []
    session.stop_program()
    wait_until(lambda: listed.ended == ["/held"])


def test_pending_requests_of_an_ended_program_are_not_carried_out(
    monkeypatch: pytest.MonkeyPatch, listed: Listener
) -> None:
    monkeypatch.setattr(_gateway, "_PAUSE_S", 2.0)  # so that they wait
    listed.visits.clear()
    with networked(listed.address).session(LIMITS) as session:
        waiting = f"[way('GET http://{listed.address}/waiting') for _ in range(4)]"
        ran(session, f"kept = [opened('{listed.address}'), {waiting}]")
        assert ran(session, f"print(get('http://{listed.address}/next'))").output == "b'body of /next'\n"
    assert listed.visits == ["connection", "connection", f"/next {listed.address} close"]


def test_results_of_an_ended_programs_requests_do_not_reach_the_next_program(
    monkeypatch: pytest.MonkeyPatch, listed: Listener
) -> None:
    may_answer = threading.Event()

    def looked_up(*_: object) -> list[str]:
        may_answer.wait(20)
        return ["127.0.0.1"]  # which is refused

    monkeypatch.setattr(destinations, "_looked_up", looked_up)
    with networked("slow.example:80", listed.address).session(LIMITS) as session:
        ran(session, "way('GET http://slow.example/')\nimport time; time.sleep(0.3)")  # that it is looked up
        may_answer.set()
        result = ran(session, f"import time; time.sleep(0.1); print(get('http://{listed.address}/next'))")
    assert (result.output, result.num_refused) == ("b'body of /next'\n", 0)


def test_bytes_are_limited_until_the_sandbox_is_emptied(monkeypatch: pytest.MonkeyPatch, listed: Listener) -> None:
    monkeypatch.setattr(_gateway, "MOST_BYTES", 100_000)
    cut = f"""
import http.client
try:
    print(get("http://{listed.address}/long"))
except http.client.IncompleteRead as error:
    print("cut", len(error.partial) < 200_000)
print(get("http://{listed.address}/"))
"""
    with networked(listed.address).session(LIMITS) as session:
        result = ran(session, cut)
        assert result.output.startswith("cut True\n403 ")
        assert result.refused == (f"{listed.address}: programs have moved 100000 bytes, the most",)
        session.reset()
        assert ran(session, f"print(get('http://{listed.address}/'))").output == "b'body of /'\n"


def test_kernel_buffers_of_connections_count_as_memory() -> None:
    """Filled within the sandbox, where no list applies; programs with many connections and small buffers continue."""
    many = """
import os
place = socket.create_server(("127.0.0.1", 0), backlog=64)
kept = []
for _ in range(40):
    there = socket.create_connection(place.getsockname())
    kept += [there, place.accept()[0]]
"""
    filled = """
for one in kept:
    one.setblocking(False)
while True:
    for one in kept:
        try:
            one.send(bytes(1 << 16))
        except BlockingIOError:
            pass
"""
    limits = Limits(wall_s=20, cpu_s=20, memory_bytes=64 << 20)
    with networked(NEVER).session(limits) as session:
        assert session.run_python(PRELUDE + many + "import time; time.sleep(0.2)").is_ok
        assert session.run_python(PRELUDE + many + filled).limit == "memory"
        assert session.run_python("print(1)").is_ok


def test_a_connection_without_a_byte_is_ended(monkeypatch: pytest.MonkeyPatch, listed: Listener) -> None:
    monkeypatch.setattr(_gateway, "IDLE_S", 0.3)
    silent = "connection = socket.create_connection(('127.0.0.1', 3128), 15); print(connection.recv(1))"
    with networked(listed.address).session(LIMITS) as session:
        assert ran(session, silent).output == "b''\n"
        held = f"print(way('GET http://{listed.address}/held').makefile('rb').read())"
        assert ran(session, held).output == "b'held'\n"


def test_hostile_requests_do_not_harm_the_session(session: Session, listed: Listener) -> None:
    program = """
import contextlib
for sent in (b"", b"\\0" * 100, b"\\x16\\x03\\x01" + bytes(500), b"G" * 200_000, b"GET / HTTP/1.1\\r\\n\\r\\n",
             b"CONNECT \\xff:1 HTTP/1.1\\r\\n\\r\\n", b"GET http://a/ HTTP/1.1\\r\\nA" + b"\\r\\nB: c" * 20_000):
    for _ in range(5):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", 3128), 15) as way:
            way.sendall(sent)
            way.shutdown(socket.SHUT_WR)
            print(way.recv(12))
"""
    said = set(session.run_python(PRELUDE + program).output.splitlines())
    assert said <= {"b''", "b'HTTP/1.1 400'", "b'HTTP/1.1 431'"}
    assert {"b'HTTP/1.1 400'", "b'HTTP/1.1 431'"} <= said
    assert ran(session, f"print(get('http://{listed.address}/after'))").output == "b'body of /after'\n"


def test_nothing_is_left_of_closed_sessions(listed: Listener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sandbox = networked(listed.address, "name.invalid:80")
    sandbox.session(LIMITS).close()  # starts the shared thread, which is created once
    listed.visits.clear()

    def there() -> tuple[int, list[str]]:
        names = sorted(thread.name for thread in threading.enumerate() if "Thread" not in thread.name)
        return len(os.listdir("/proc/self/fd")), names

    wait_until(lambda: not any("process_request" in thread.name for thread in threading.enumerate()))
    before = there()
    for _ in range(3):
        with sandbox.session(LIMITS) as session:
            ran(session, f"print(get('http://{listed.address}/'), get('http://name.invalid/'), get('http://other/'))")
            session.start_program(PRELUDE + f"kept = way('GET http://{listed.address}/held'); open(3, 'r').read()")
    wait_until(lambda: there() == before)
    assert list(tmp_path.iterdir()) == []


def test_a_gateway_that_fails_ends_the_session(listed: Listener) -> None:
    with networked(listed.address).session(LIMITS) as session:
        gateway = session._place._gateway  # type: ignore[attr-defined]  # of a networked place
        gateway._loop.call_soon_threadsafe(gateway._accepting.cancel)
        gateway._thread.join()
        with pytest.raises(SandboxFailure, match="gateway has ended by a fault"):
            session.run_python("print(1)")


# -- which kinds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "settings", "why"),
    [
        ("landlock", {}, "distinguishes ports but not addresses; use the sandbox 'bubblewrap'"),
        ("docker", {"gvisor": True}, "with gVisor"),
        ("process", {"trusted": True}, "nothing holds them to a list"),
        ("remote", {}, r"cairn sandbox serve --set 'network=\[...\]'"),
    ],
)
def test_kinds_that_cannot_enforce_a_list_raise_an_error(kind: str, settings: dict[str, bool], why: str) -> None:
    with pytest.raises(ConfigError, match=f"The sandbox '{kind}' takes no `network`.*{why}"):
        new_sandbox(kind, network=[NEVER], **settings)


def test_a_kind_without_network_support_rejects_the_setting() -> None:
    class Other(Sandbox):
        name = "other"

    with pytest.raises(ConfigError, match="The sandbox 'other' takes no `network`: its programs have none"):
        Other(SandboxConfig(network=(NEVER,)))
    assert Other(SandboxConfig()).config.network == ()


def test_the_default_kind_for_a_network_supports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert networked(NEVER).name == new_sandbox(network=[NEVER]).name == "bubblewrap"
    monkeypatch.setattr(Bubblewrap, "problem", lambda _: "no namespaces")
    with pytest.raises(
        CairnError, match=r"No sandbox works.*bubblewrap: no namespaces; landlock: .*no `network`"
    ) as all_:
        new_sandbox(network=[NEVER])
    assert not isinstance(all_.value, NoNetworkError)


def test_the_server_decides_the_addresses_that_its_sessions_may_reach(
    tmp_path: Path, listed: Listener, other: Listener
) -> None:
    usable("bubblewrap")
    with (
        server(tmp_path, "--set", f'network=["{listed.address}"]') as running,
        running.remote().session(LIMITS) as session,
    ):
        result = ran(session, f"print(get('http://{listed.address}/far'), get('http://{other.address}/'))")
        assert result.output.startswith("b'body of /far' 403 ")
        assert result.refused == (f"{other.address}: it is not on the list",)
        assert result.num_refused == 1
