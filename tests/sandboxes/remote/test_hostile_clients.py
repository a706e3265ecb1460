"""Clients that misbehave before and after they show the token: each is answered or cut off, and others are served."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from cairn.sandboxes import wire
from tests.sandboxes.remote import serving
from tests.sandboxes.remote.serving import TOKEN, Server

pytestmark = pytest.mark.rotating(4)

PATIENCE_S = 60.0  # only a fault takes so long
AUTH = f"Authorization: Bearer {TOKEN}\r\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, server_kind: str) -> Iterator[Server]:
    with serving.server(tmp_path_factory.mktemp("served"), "--sessions", "4", kind=server_kind) as running:
        yield running


def connected(served: Server) -> socket.socket:
    parts = urlsplit(served.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE_S)


def answer(served: Server, sent: bytes) -> bytes:
    """Send bytes and return the received bytes until the server closes, or for some seconds."""
    with connected(served) as line:
        with contextlib.suppress(OSError):
            line.sendall(sent)
        return rest(line)


def rest(line: socket.socket) -> bytes:
    found = bytearray()
    with contextlib.suppress(OSError):
        while part := line.recv(1 << 16):
            found += part
            if b"\r\n\r\n" in found and b"connection: close" not in found.lower():
                break
    return bytes(found)


def request(path: str = "/sandbox", *, method: str = "GET", head: str = AUTH, body: bytes = b"") -> bytes:
    length = f"Content-Length: {len(body)}\r\n" if body and "Content-Length" not in head else ""
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\n{head}{length}\r\n".encode("latin-1") + body


def message(value: object, blob: bytes = b"") -> bytes:
    body = json.dumps(value).encode()
    return struct.pack("!II", len(body), len(blob)) + body + blob


DEEP = b'{"do":' + b"[" * 200_000
LIMITS: dict[str, tuple[bytes, int]] = {  # a body for POST /sessions, and the status
    "no JSON": (b"no json", 400),
    "deep JSON": (DEEP, 400),
    "JSON of another type": (b"[1, 2]", 400),
    "NaN": (b'{"wall_s": NaN}', 400),
    "infinite": (b'{"wall_s": 1e999}', 400),
    "negative": (b'{"wall_s": -1}', 400),
    "a text for a number": (b'{"memory_bytes": "much"}', 400),
    "a number of 5,000 digits": (b'{"memory_bytes": ' + b"9" * 5000 + b"}", 400),
    "bytes that are not UTF-8": (b'{"wall_s": "\xff\xfe"}', 400),
    "unknown names": (b'{"wall": 1}', 400),
}
MESSAGES: dict[str, bytes] = {  # for POST /sessions/ID
    "empty": b"",
    "noise": bytes(range(256)),
    "lengths of more than there is": struct.pack("!II", 1 << 30, 1 << 30),
    "deep": struct.pack("!II", len(DEEP), 0) + DEEP,
    "a list": message([1]),
    "an unknown request": message({"do": "hello"}),
    "a request of another type": message({"do": ["run"]}),
    "NaN seconds": message({"do": "run", "argv": ["true"], "env": {}, "wall_s": float("nan")}),
}
HEADS: dict[str, tuple[bytes, tuple[int, ...]]] = {  # raw bytes, and the statuses that may come; none: it is cut off
    "noise": (bytes(range(256)) * 4, (400,)),
    "a TLS hello": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), (400,)),
    "HTTP/0.9": (b"GET /health\r\n\r\n", (400,)),
    "an endless head": (b"GET /health HTTP/1.1\r\n" + b"x: y\r\n" * 50_000, (400,)),
    "one long line": (b"GET /" + b"a" * 200_000, (400,)),
    "a length that is not a number": (request(head=f"{AUTH}Content-Length: many\r\n"), (400,)),
    "a negative length": (request(head=f"{AUTH}Content-Length: -5\r\n"), (400,)),
    "two lengths": (request(head=f"{AUTH}Content-Length: 3\r\nContent-Length: 5\r\n"), (400,)),
    "malformed chunks": (request(method="POST", path="/sessions", head=f"{AUTH}Transfer-Encoding: chunked\r\n")
                             + b"zz\r\n", (400,)),
    "an upgrade": (request(head=f"{AUTH}Connection: upgrade\r\nUpgrade: websocket\r\n"), (200, 400, 426)),
    "no token": (request(head=""), (401,)),
    "a wrong token": (request(head="Authorization: Bearer " + "x" * 30 + "\r\n"), (401,)),
    "two tokens, the last one wrong": (request(head=f"{AUTH}Authorization: Bearer {'x' * 30}\r\n"), (401,)),
    "a token that is not ASCII": (request(head="Authorization: Bearer \xff\xfe\r\n"), (400, 401)),
    "a large body without a token": (request("/sessions", method="POST", head="Content-Length: 9999999\r\n"), (401,)),
    "another method": (request("/sessions"), (405,)),
    "an unknown path": (request("/../../etc/passwd"), (404,)),
    "an unknown session": (request("/sessions/none?timeout_s=1", method="POST", body=message({"do": "shut"})), (404,)),
}  # fmt: skip


def status(said: bytes) -> int:
    return int(said.split()[1]) if said.startswith(b"HTTP/1.1 ") else 0


@pytest.fixture(autouse=True)
def still_serves(served: Server) -> Iterator[None]:
    """After each client another one is served."""
    yield
    with served.remote(connect_s=PATIENCE_S).session() as session:
        assert session.run(["echo", "served"]).stdout == b"served\n"
    assert served.process.poll() is None


@pytest.mark.parametrize("name", HEADS)
def test_heads(served: Server, name: str) -> None:
    sent, statuses = HEADS[name]
    assert status(answer(served, sent)) in statuses


@pytest.mark.parametrize("name", LIMITS)
def test_limits(served: Server, name: str) -> None:
    body, expected = LIMITS[name]
    said = served.post("/sessions", body)
    assert said.status_code == expected
    assert "error" in said.json()


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(served: Server, name: str) -> None:
    path = served.opened()
    try:
        said = served.post(f"{path}?timeout_s=5", MESSAGES[name])
        assert said.status_code == 400, said.text
        for wrong in ("nan", "inf", "-1", "much", "9" * 5000, ""):
            assert served.post(f"{path}?timeout_s={wrong}", message({"do": "shut"})).status_code == 400
        assert wire.received(_reader(served.post(f"{path}?timeout_s=5", message({"do": "shut"})).content), 1)[0] == {}
    finally:
        served.post(path, b"", method="DELETE")


BREAKS: dict[str, Callable[[socket.socket], None]] = {
    "reset": lambda line: line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)),
    "half closed": lambda line: line.shutdown(socket.SHUT_WR),
    "closed": lambda line: None,
}


@pytest.mark.parametrize("name", BREAKS)
def test_clients_that_leave_in_the_middle(served: Server, name: str) -> None:
    path = served.opened()
    run = message({"do": "run", "argv": ["sleep", "0.3"], "env": {}, "wall_s": 5.0})
    whole = request(f"{path}?timeout_s=5", method="POST", body=run)
    for sent in (whole, whole[:-5], whole[:40]):
        with connected(served) as line:
            line.sendall(sent)
            BREAKS[name](line)
    served.post(path, b"", method="DELETE")


def test_requests_one_behind_another_are_answered_in_turn(served: Server) -> None:
    with connected(served) as line:
        line.sendall(request() * 20 + request(head=f"{AUTH}Connection: close\r\n"))
        said = bytearray()
        while part := line.recv(1 << 16):
            said += part
    assert said.count(b"HTTP/1.1 200 OK") == 21


def _reader(body: bytes) -> Callable[[int, float], bytes]:
    at = iter(body)
    return lambda count, _: bytes(next(at) for _ in range(count))
