"""Access rules of a served page: hosts, origins, sizes, and the headers of every answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from cairn.envs.webshop.web_guard import HEADERS, MAX_BODY, ShopGuard
from tests.envs.webshop.forms import HOST

FORM = {"content-type": "application/x-www-form-urlencoded"}


class Site:
    """Counts the requests that reach it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        app = Starlette(routes=[Route("/", self.answer, methods=["GET", "POST"])])
        self.client = TestClient(ShopGuard(app), base_url=HOST)

    async def answer(self, request: Request) -> PlainTextResponse:
        self.bodies.append(await request.body())
        return PlainTextResponse("reached")


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "LOCALHOST", "[::1]:8000", "[::1]"])
def test_names_of_this_machine_are_answered(site: Site, host: str) -> None:
    assert site.client.get("/", headers={"host": host}).text == "reached"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "evil@127.0.0.1",
        "127.0.0.1:80@evil.example", "evil.example#localhost", "", "127.0.0.1:", "127.0.0.1:80:80", "0.0.0.0", "::1",
    ],
)  # fmt: skip
def test_a_name_that_only_points_here_is_refused(site: Site, host: str) -> None:
    for method in ("GET", "POST"):
        answer = site.client.request(method, "/", headers={"host": host})
        assert answer.status_code == 400
        assert answer.text.startswith("This server answers to the hosts 127.0.0.1, [::1], localhost;")
    assert site.bodies == []


def test_two_hosts_are_refused(site: Site) -> None:
    answer = site.client.get("/", headers=[("host", "127.0.0.1"), ("host", "127.0.0.1")])
    assert answer.status_code == 400
    assert site.bodies == []


FOREIGN = [
    {"origin": "http://evil.example"},
    {"origin": "http://127.0.0.1:9000"},
    {"origin": "http://localhost:8000"},
    {"origin": "https://127.0.0.1:8000.evil.example"},
    {"origin": "null"},
    {"origin": ""},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": HOST, "sec-fetch-site": "cross-site"},
]
OWN = [{}, {"origin": HOST}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}]


@pytest.mark.parametrize("headers", FOREIGN)
def test_another_sites_form_is_refused_and_its_links_are_not(site: Site, headers: dict[str, str]) -> None:
    answer = site.client.post("/", data={"click": "buy now"}, headers=headers)
    assert answer.status_code == 403
    assert answer.text.startswith("Forms of other sites are not taken")
    assert site.bodies == []
    assert site.client.get("/", headers=headers).text == "reached"


@pytest.mark.parametrize("headers", OWN)
def test_own_forms_and_programs_may_post(site: Site, headers: dict[str, str]) -> None:
    assert site.client.post("/", content=b"click=x", headers={**FORM, **headers}).text == "reached"
    assert site.bodies == [b"click=x"]


def test_a_body_may_be_as_long_as_the_limit_and_no_longer(site: Site) -> None:
    def pieces(count: int) -> Iterator[bytes]:  # sent without a length
        yield from (b"x" for _ in range(count))

    def send(content: Any) -> int:  # Any: every content that the client takes
        return site.client.post("/", content=content, headers=FORM).status_code

    assert send(b"x" * MAX_BODY) == 200
    assert send(b"x" * (MAX_BODY + 1)) == 413
    assert send(pieces(3)) == 200
    assert [len(body) for body in site.bodies] == [MAX_BODY, 3]
    site.client = TestClient(ShopGuard(site.client.app, max_body=5), base_url=HOST)
    assert send(pieces(5)) == 200
    assert send(pieces(6)) == 413
    assert len(site.bodies) == 3


def test_an_incomplete_body_does_not_reach_the_site(site: Site) -> None:
    import anyio

    arriving = [{"type": "http.request", "body": b"click=buy", "more_body": True}, {"type": "http.disconnect"}]
    sent: list[Any] = []  # Any: ASGI messages

    async def receive() -> Any:  # Any: an ASGI message
        return arriving.pop(0)

    async def send(message: Any) -> None:  # Any: an ASGI message
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"127.0.0.1")]}
    anyio.run(site.client.app, scope, receive, send)
    assert sent[0]["status"] == 413
    assert site.bodies == []


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {}, 200),
        ("POST", {}, 200),
        ("GET", {"host": "evil.example"}, 400),
        ("POST", FOREIGN[0], 403),
        ("PUT", {}, 405),
    ],
)
def test_every_answer_has_the_strict_headers(site: Site, method: str, headers: dict[str, str], status: int) -> None:
    answer = site.client.request(method, "/", headers=headers)
    assert answer.status_code == status
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    policy = {part.split()[0]: part.split()[1:] for part in answer.headers["content-security-policy"].split("; ")}
    assert policy["default-src"] == ["'none'"]
    assert policy["style-src"] == policy["form-action"] == ["'self'"]
    assert set(policy) == {"default-src", "style-src", "form-action", "base-uri", "frame-ancestors"}
