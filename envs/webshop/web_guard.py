"""Checks requests to served pages: host, origin and body size; adds strict headers.

The guard keeps other sites in the same browser from reading or driving a server on this machine: a foreign name that
resolves to this machine (DNS rebinding) is rejected by its Host, a foreign form by its Origin. Programs, which send no
Origin, may post. It does not authenticate: every request from this machine is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
MAX_BODY = 1 << 16  # bytes
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # under "no-referrer" browsers send forms with the Origin "null"
    "cache-control": "no-store",  # so that the Back button reloads the page
}
_HOST = re.compile(r"(.+?)(:[0-9]{1,5})?")
_READING = ("GET", "HEAD")


class ShopGuard:
    """ASGI middleware that checks requests and adds headers."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] = LOOPBACK, max_body: int = MAX_BODY) -> None:
        """Guard `app`.

        Args:
            app: the application to guard.
            hosts: allowed host names, without ports, in lower case.
            max_body: maximum bytes of a request's body.
        """
        self._app = app
        self._hosts = hosts
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject a request, or pass it on with its body read."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(Headers(scope=scope), scope["method"])
        if refusal is None and scope["method"] not in _READING:
            body = await _read(receive, self._max_body)
            if body is None:
                refusal = PlainTextResponse(f"The request's body is over {self._max_body} bytes.\n", 413)
            else:
                receive = _replay(body, receive)
        await (refusal or self._app)(scope, receive, _with_headers(send))

    def _refusal(self, headers: Headers, method: str) -> Response | None:
        hosts = headers.getlist("host")
        host = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if host is None or host[1].lower() not in self._hosts:
            known = ", ".join(sorted(self._hosts))
            return PlainTextResponse(
                f"This server answers to the hosts {known}; the request's is {hosts!r:.100}.\n", 400
            )
        if method in _READING:
            return None
        origins = headers.getlist("origin")
        is_foreign = bool(origins) and origins not in ([f"http://{hosts[0]}"], [f"https://{hosts[0]}"])
        if is_foreign or headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return PlainTextResponse("Forms of other sites are not taken; start from this server's own pages.\n", 403)
        return None


async def _read(receive: Receive, limit: int) -> bytes | None:
    """Return the body; None if it exceeds `limit` or the client disconnects."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += bytes(message.get("body", b""))
        if len(body) > limit:
            return None
        if not message.get("more_body", False):
            return body


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that returns the whole body once."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
