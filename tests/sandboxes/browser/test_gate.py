"""The proxy of a page, asked as a browser asks it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cairn.sandboxes.browser.gate import Gate, Scope

ASKED = "GET {} HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n"


def answered(*targets: str) -> tuple[list[str], list[Scope]]:
    """Return the status of each answer, and the requests to a site called `site`."""
    asked = list[Scope]()

    async def site(scope: Scope, receive: Any, send: Any) -> None:  # Any: ASGI's
        asked.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask(gate: Gate, target: str) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(gate.url.rpartition(":")[2]))
        writer.write(ASKED.format(target).encode())
        answer = await reader.read()
        writer.close()
        return answer.decode().split()[1]

    async def go() -> list[str]:
        gate = Gate()
        gate.begin({"site": site})
        await gate.start()
        try:
            return [await ask(gate, target) for target in targets]
        finally:
            await gate.stop()

    return asyncio.run(go()), asked


def test_only_sites_are_answered_for() -> None:
    found, asked = answered("http://site/a?b=c", "http://other/a", "/a")
    assert found == ["200", "403", "403"]
    assert [(scope["path"], scope["query_string"]) for scope in asked] == [("/a", b"b=c")]


@pytest.mark.parametrize(
    ("target", "path"), [("/f/a%23b%3Fc", "/f/a#b?c"), ("/a%20%C3%A9", "/a \u00e9"), ("/a;b", "/a;b"), ("", "/")]
)
def test_sites_receive_the_whole_path(target: str, path: str) -> None:
    _, (scope,) = answered(f"http://site{target}?q=%23")
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == (path, target.encode() or b"/", b"q=%23")


def test_requests_are_always_parsed_by_h11(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uvicorn.protocols.http.auto.AutoHTTPProtocol", asyncio.Protocol)  # uvicorn's choice
    assert answered("http://site/")[0] == ["200"]
