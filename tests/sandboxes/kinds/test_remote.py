"""Sandboxes behind a server: authentication, limits, retries, and cleanup when either end dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import Message
from typer.testing import CliRunner

from cairn.cli.main import app
from cairn.core.errors import CairnError, SandboxFailure
from cairn.sandboxes import wire
from cairn.sandboxes.base import Limits
from cairn.sandboxes.kinds.landlock import CAPABILITIES
from cairn.sandboxes.kinds.remote import Remote, RemoteConfig
from cairn.sandboxes.records import Result
from cairn.sandboxes.registry import new_sandbox
from cairn.sandboxes.remote import protocol
from cairn.sandboxes.remote import server as sandbox_server
from cairn.sandboxes.remote.server import SandboxServer, SandboxServerConfig
from tests.reserved_port import reserve_port
from tests.sandboxes.remote import serving
from tests.sandboxes.remote.serving import TOKEN, Server
from tests.sandboxes.test_contract import running, start_waiting

SMALL = Limits(wall_s=2, memory_bytes=64 << 20)
PATIENCE_S = 60.0  # only a fault takes so long
pytestmark = [pytest.mark.rotating(4), pytest.mark.xdist_group("sandbox-remote")]


def said(message: Mapping[str, object], blob: bytes = b"") -> bytes:
    return wire.packed(message, blob)


# -- who gets in -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper()])
def test_without_the_token_nothing_is_answered(server: Server, token: str) -> None:
    path = server.opened()
    for method, where in (("GET", "/sandbox"), ("POST", "/sessions"), ("POST", path), ("DELETE", path), ("GET", "/x")):
        answer = server.post(where, b"{}", token, method)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert server.post(path, b"", method="DELETE").status_code == 204


def test_a_wrong_token_is_a_wrong_request_that_shows_no_token(server: Server) -> None:
    wrong = server.remote(token="a-wrong-token-of-some-length")
    with pytest.raises(CairnError) as refused:
        wrong.launch(SMALL)
    assert refused.type is CairnError  # no failure of an episode
    for problem in (str(wrong.problem()), str(refused.value)):
        assert "refuses the token" in problem
        assert protocol.TOKEN_ENV in problem
        assert "a-wrong-token" not in problem


def test_the_token_comes_from_settings_a_file_or_the_environment_and_is_in_no_record(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(protocol.TOKEN_ENV, raising=False)
    without = server.remote(token=None)
    assert "CAIRN_SANDBOX_TOKEN" in str(without.problem())
    assert "secrets.token_urlsafe" in str(without.problem())
    monkeypatch.setenv(protocol.TOKEN_ENV, TOKEN)
    assert server.remote(token=None).problem() is None
    monkeypatch.setenv(protocol.TOKEN_ENV, "the-token-of-another-server")
    assert server.remote(token=None).problem() is not None
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert server.remote(token=None, token_file=str(tmp_path / "token")).problem() is None
    config = RemoteConfig.model_validate({"token": TOKEN})
    assert TOKEN not in repr(config) + str(config.model_dump()) + config.model_dump_json()


@pytest.mark.parametrize("token", ["", "short", "has blanks in between it", "ünprintable-in-ascii-it-is"])
def test_a_malformed_token_is_rejected_by_client_and_server(tmp_path: Path, token: str) -> None:
    file = tmp_path / "token"
    file.write_text(token)
    problem = Remote(RemoteConfig(token_file=str(file))).problem()
    assert problem is not None
    assert "expected a sandbox token of at least" in problem
    served = CliRunner().invoke(app, ["sandbox", "serve", "--token-file", str(file)])
    assert served.exit_code == 2
    assert "expected a sandbox token of at least" in served.stderr


@pytest.mark.parametrize("url", ["sandboxes:8600", "ftp://x", "http://", "http://me:secret@x"])
def test_a_malformed_address_is_rejected(url: str) -> None:
    with pytest.raises(ValueError, match="expected an address"):
        RemoteConfig(url=url)


def test_it_listens_on_loopback_only_and_its_health_needs_no_token(server: Server) -> None:
    port = int(server.url.rpartition(":")[2])
    assert server.url == f"http://127.0.0.1:{port}"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", port), timeout=5)
    assert server.post("/health", b"", token="", method="GET").json() == {"is_up": True}


# -- how much ----------------------------------------------------------------------------------------------------------


def test_only_valid_client_requests_reach_a_sandbox_process(server: Server) -> None:
    path = server.opened()
    hello: dict[str, object] = {
        "do": "hello",
        "home": "/",
        "roots": [],
        "confinement": None,
        "limits": {},
        "is_first": False,
    }
    for body in (said(hello), said({"do": "serve"}), said({}), b"", b"\0" * 8, said({"do": "shut"})[:-1], b"\xff" * 64):
        answer = server.post(f"{path}?timeout_s=5", body)
        assert answer.status_code == 400, answer.text
    for timeout in ("", "?timeout_s=x", "?timeout_s=nan", "?timeout_s=-1", "?timeout_s=inf"):
        assert server.post(path + timeout, said({"do": "shut"})).status_code == 400
    answer = server.post(f"{path}?timeout_s=5", said({"do": "list", "max_files": 5}))
    assert protocol.unpacked(answer.content) == ({"entries": []}, b"")
    assert server.post(path, b"", method="DELETE").status_code == 204


def test_the_servers_time_limit_of_a_session_applies_to_every_request(server: Server) -> None:
    path = server.opened(wall_s=0.5)
    message = {"do": "run", "argv": ["sleep", "25"], "env": {}, "wall_s": 50}  # it would end by itself
    answer, _ = protocol.unpacked(server.post(f"{path}?timeout_s=60", said(message)).content)
    assert (answer["limit"], answer["signal"]) == ("wall", 9)
    server.post(path, b"", method="DELETE")


def test_bodies_limits_and_sessions_have_maxima(tmp_path: Path, server_kind: str) -> None:
    options = ("--sessions", "1", "--max-body-mib", "1", "--most", "wall_s=5", "--most", "memory_bytes=100000000")
    with serving.server(tmp_path, *options, kind=server_kind) as server:
        remote = server.remote()
        with pytest.raises(CairnError, match=r"wall_s: 6.0 is asked for; this server gives at most 5.0"):
            remote.session(Limits(wall_s=6, memory_bytes=64 << 20))
        for wrong in (b"{", b'{"wall_s": "x"}', b'{"wal_s": 1}'):
            assert server.post("/sessions", wrong).status_code == 400
        with remote.session(SMALL) as session:
            with pytest.raises(CairnError, match="--max-body-mib"):
                session.write_file("x", bytes(2 << 20))
            session.write_file("x", bytes(1000))  # nothing was lost
            assert server.post("/sessions", bytes((1 << 20) + 1)).status_code == 413
            with pytest.raises(SandboxFailure, match=r"all 1 sessions are in use; given up after 1 attempts"):
                remote.session(SMALL)
            threading.Timer(0.5, session.close).start()
            with server.remote(retry_s=10.0).session(SMALL) as other:
                assert other.run(["true"]).is_ok


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--kind", "remote"], "a kind of this machine"),
        (["--kind", "bubblewarp"], "Did you mean 'bubblewrap'"),
        (["--kind", "process"], "isolates nothing"),
        (["--most", "wall=5"], "unknown key 'wall'"),
        (["--set", "pyton=x"], "did you mean 'python'"),
    ],
)
def test_invalid_options_of_the_server_are_rejected(
    options: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(protocol.TOKEN_ENV, TOKEN)
    served = CliRunner().invoke(app, ["sandbox", "serve", *options])
    assert served.exit_code == 2
    assert complaint in served.stderr


def test_a_port_in_use_raises_an_error(monkeypatch: pytest.MonkeyPatch, server_kind: str) -> None:
    monkeypatch.setenv(protocol.TOKEN_ENV, TOKEN)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        served = CliRunner().invoke(app, ["sandbox", "serve", "--kind", server_kind, "--port", port])
    assert served.exit_code == 2
    assert f"Cannot listen on 127.0.0.1 port {port}: Address already in use" in served.stderr


def run_shell(server: Server, path: str, script: str) -> str:
    """Run a shell script in a session and return its output."""
    message = said({"do": "run", "argv": ["sh", "-c", script], "env": {"PATH": "/usr/bin:/bin"}, "wall_s": 60})
    return protocol.unpacked(server.post(f"{path}?timeout_s=60", message).content)[1].decode()


def test_requests_to_one_session_run_one_after_another_and_other_sessions_do_not_wait(server: Server) -> None:
    one, other = server.opened(wall_s=60), server.opened(wall_s=60)
    mark = f"3{time.time_ns() % 10**7}.25"
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(run_shell, server, one, f"exec 2>/dev/null; sleep {mark}; date +%s%N")
        (pid,) = started(f"sleep {mark}")
        second = threads.submit(run_shell, server, one, "date +%s%N")
        for _ in range(3):  # time in which the second could run
            assert run_shell(server, other, "echo beside") == "beside\n"
        assert not first.done()
        os.kill(pid, signal.SIGKILL)
        assert int(first.result()) < int(second.result())
    for path in (one, other):
        server.post(path, b"", method="DELETE")


def test_requests_to_one_session_get_their_own_answers(server: Server) -> None:
    path = server.opened(wall_s=60)
    words = [f"{'x' * 500}{number}" for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda word: run_shell(server, path, f"echo {word}"), words))
    assert answers == [f"{word}\n" for word in words]
    server.post(path, b"", method="DELETE")


# -- when either end is gone -------------------------------------------------------------------------------------------


def started(command: str) -> list[int]:
    """Return the processes with this command line, once there are some."""
    until = time.monotonic() + PATIENCE_S
    while not (found := running(command)):
        assert time.monotonic() < until, f"{command} does not start"
        time.sleep(0.01)
    return found


def becomes_true(condition: Callable[[], bool]) -> bool:
    """Wait until a condition is true; return whether it is."""
    until = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def num_sessions(server: Server) -> int:
    """Return how many sessions a server has; asking uses none of them."""
    return int(server.post("/sandbox", b"", method="GET").json()["sessions"])


def test_an_idle_session_is_closed_and_reported_as_gone(tmp_path: Path, server_kind: str) -> None:
    with serving.server(tmp_path, "--idle-s", "1", kind=server_kind) as server:
        session = server.remote().session(SMALL)
        assert becomes_true(lambda: num_sessions(server) == 0)
        with pytest.raises(SandboxFailure, match=r"the session is gone: .*--idle-s"):
            session.run(["true"])
        session.close()


def test_a_session_is_closed_when_its_last_request_is_too_long_ago(
    monkeypatch: pytest.MonkeyPatch, server_kind: str
) -> None:
    """By a clock of the test's own."""
    now, script = [0.0], f"read line <&3; echo here >&3; read line <&3; # 6{time.time_ns() % 10**7}"
    monkeypatch.setattr(sandbox_server, "time", SimpleNamespace(monotonic=lambda: now[0]))
    served = SandboxServer(
        new_sandbox(server_kind), SandboxServerConfig(sessions=1, idle_s=0.1)
    )  # looked at every 25 ms

    def asked(body: bytes, **given: str) -> Request:
        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        scope = {"type": "http", "method": "POST", "headers": [], "query_string": b"timeout_s=60", "path_params": given}
        return Request(scope, receive)

    async def serve() -> None:
        async with served.life(Starlette()):
            session = json.loads(bytes((await served.start(asked(SMALL.model_dump_json().encode()))).body))
            listing = {"do": "list", "max_files": 5}
            opening = {"do": "open", "argv": ["sh", "-c", script], "env": {"PATH": "/usr/bin:/bin"}}
            turn = {"do": "talk", "wall_s": 5}
            for message, blob in ((opening, b""), (turn, b"go\n"), (listing, b""), (listing, b"")):
                now[0] += 0.08
                await asyncio.sleep(0.1)  # several looks, which find that it was used 0.08 s ago
                answer = await served.request(asked(said(message, blob), id=session["id"]))
                assert answer.status_code == 200
            assert len(served._sessions) == 1
            assert running(f"sh -c {script}")
            now[0] += 0.12
            while served._sessions or running(f"sh -c {script}"):
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(serve(), PATIENCE_S))


def test_a_server_that_ends_takes_its_sessions_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = [f"5{time.time_ns() % 10**7}.{number}" for number in (1, 2)]
    places = Path(tempfile.mkdtemp())
    places.chmod(0o755)  # places have users of their own
    monkeypatch.setenv("TMPDIR", str(places))
    with serving.server(tmp_path, "--set", "trusted=true", kind="process") as server:
        remote = server.remote()
        sessions = [remote.session(SMALL.model_copy(update={"wall_s": PATIENCE_S})) for _ in marks]
        waiting = [start_waiting(session, mark) for session, mark in zip(sessions, marks, strict=True)]
        answered: list[Result] = []
        pending = f"2{time.time_ns() % 10**7}.25"
        script = ["sh", "-c", f"sleep {pending}; true"]
        busy = threading.Thread(target=lambda: answered.append(sessions[0].run(script)))
        busy.start()
        (pid,) = started(f"sleep {pending}")
        assert len(list(places.iterdir())) == 2
        server.process.send_signal(signal.SIGTERM)
        assert becomes_true(lambda: not listens(server))
        os.kill(pid, signal.SIGKILL)
        assert server.process.communicate(timeout=PATIENCE_S)[1] == ""
        busy.join()
        assert [result.is_ok for result in answered] == [True]  # requests in progress are finished
        assert [running(each) for each in waiting] == [[], []]
        places.rmdir()  # nothing is left in it
        with pytest.raises(SandboxFailure, match=r"no server answers .*given up after 1 attempts"):
            sessions[1].run(["true"])
        with pytest.raises(SandboxFailure, match="no server answers"):  # not CairnError: it had been there
            remote.session(SMALL)
        for session in sessions:
            session.close()


def listens(server: Server) -> bool:
    parts = urlsplit(server.url)
    try:
        socket.create_connection((parts.hostname, parts.port), timeout=5).close()
    except OSError:
        return False
    return True


def test_a_killed_server_leaves_no_program_running(tmp_path: Path, server_kind: str) -> None:
    mark = f"4{time.time_ns() % 10**7}.25"
    with serving.server(tmp_path, kind=server_kind) as server:
        waiting = start_waiting(server.remote().session(SMALL), mark)
        assert running(waiting)
        server.end(signal.SIGKILL)
        until = time.monotonic() + 5
        while running(waiting) and time.monotonic() < until:
            time.sleep(0.02)
        assert running(waiting) == []


def test_a_server_that_is_not_there_yet_is_waited_for(tmp_path: Path, server_kind: str) -> None:
    with reserve_port() as holder, ThreadPoolExecutor(1) as threads:
        port = holder.getsockname()[1]
        config = {"url": f"http://127.0.0.1:{port}", "token": TOKEN, "retry_s": PATIENCE_S, "backoff_s": 0.02}
        remote = Remote(RemoteConfig.model_validate(config))
        problem = remote.problem()
        assert problem is not None
        assert "start one there with: cairn sandbox serve" in problem
        launching = threads.submit(remote.launch, SMALL)
        with serving.server(tmp_path, kind=server_kind, port=port):
            launching.result().close()


@contextmanager
def answering(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Give the address of a server that answers each connection with these bytes, and the received requests."""
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for answer in answers:
                connection, _ = listening.accept()
                with connection:
                    seen.append(connection.recv(1 << 16))
                    connection.sendall(answer)

        serving_ = threading.Thread(target=serve, daemon=True)
        serving_.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", seen
        serving_.join(0.2)


def reply(status: str, body: bytes) -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body


CREATED = reply(
    "201 Created", json.dumps({"id": "x", "home": "/work", "env": {}, "idle_s": 9, "max_body_bytes": 1 << 20}).encode()
)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"", "no answer"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf", "no answer"),
        (reply("502 Bad Gateway", b'{"error": "broken"}'), "status 502: broken"),
        (reply("504 Gateway Timeout", b"late"), "status 504: late"),
        (reply("408 Request Timeout", b"slow"), "status 408: slow"),
        (reply("200 OK", b"no message"), "expected a message|announced"),
    ],
)
def test_a_request_that_may_have_been_carried_out_is_not_retried(answer: bytes, complaint: str) -> None:
    with answering(CREATED, answer, answer) as (url, seen):
        place = Remote(RemoteConfig.model_validate({"url": url, "token": TOKEN, "retry_s": 5})).launch(SMALL)
        with pytest.raises(SandboxFailure, match=complaint):
            place.request({"do": "shut"}, b"", 2)
        assert len(seen) == 2


def test_an_answer_is_not_held_back_by_the_network(server: Server) -> None:
    with server.remote().session(SMALL) as session:
        session.write_file("x", b"x")
        spent = []
        for _ in range(40):
            began = time.perf_counter()
            session.read_file("x")
            spent.append(time.perf_counter() - began)
    # Where parts of an answer wait for each other, every answer but the first few takes 0.04 s.
    assert min(spent[20:]) < 0.03


def test_a_fork_makes_connections_of_its_own(server: Server) -> None:
    remote = server.remote()
    with remote.session(SMALL) as session:
        if (child := os.fork()) == 0:
            status = 1
            with contextlib.suppress(Exception), remote.session(SMALL) as other:
                status = 0 if all(other.run(["echo", "child"]).stdout == b"child\n" for _ in range(20)) else 2
            os._exit(status)
        assert all(session.run(["echo", "parent"]).stdout == b"parent\n" for _ in range(20))
        assert os.waitpid(child, 0)[1] == 0


def test_a_full_server_is_asked_again(tmp_path: Path) -> None:
    full = reply("503 Service Unavailable", b'{"error": "full"}')
    with answering(full, full, CREATED) as (url, seen):
        config = {"url": url, "token": TOKEN, "retry_s": 10, "backoff_s": 0.01}
        assert Remote(RemoteConfig.model_validate(config)).launch(SMALL).home == "/work"
        assert len(seen) == 3


def test_a_server_of_another_kind_raises_an_error(server: Server) -> None:
    with answering(reply("404 Not Found", b"nothing here")) as (url, _):
        problem = Remote(RemoteConfig.model_validate({"url": url, "token": TOKEN})).problem()
        assert problem is not None
        assert "is this a sandbox server?" in problem


def test_a_limit_that_the_servers_kernel_enforces_is_reported_to_the_client(server: Server) -> None:
    with server.remote().session(SMALL) as session:
        assert session.run_python("held = [b'x' * (8 << 20) for _ in range(40)]").limit == "memory"
        assert session.run(["true"]).limit is None


# -- Kubernetes --------------------------------------------------------------------------------------------------------


def test_the_manifest_starts_this_command_and_blocks_other_traffic() -> None:
    file = Path(__file__).parents[3] / "docs" / "sandboxes-kubernetes.yaml"
    secret, deployment, service, policy = yaml.safe_load_all(file.read_text(encoding="utf-8"))
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["command"] == ["cairn"]
    assert len(secret["stringData"]["token"].replace(" ", "")) < 16  # the placeholder there is not a valid token
    args = [arg for arg in container["args"] if not arg.startswith("--token-file")]
    token = ["--token-file", str(file)]  # none either, so it is refused once everything else is understood
    served = CliRunner().invoke(app, [*args, *token])
    assert (served.exit_code, "expected a sandbox token" in served.stderr) == (2, True), served.output
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], "add": sorted(CAPABILITIES)},
    }  # fmt: skip
    assert pod["securityContext"]["runAsUser"] == 0
    assert pod["automountServiceAccountToken"] is False
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels == policy["spec"]["podSelector"]["matchLabels"]
    assert policy["spec"]["egress"] == []
