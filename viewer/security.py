"""Access control of the viewer's pages, and restrictions on the pages themselves.

Requests must name a host of this server; otherwise a web page elsewhere could have a visitor's browser send requests
under its own name (DNS rebinding). IP addresses cannot be rebound. If other machines can reach the server, visitors
show a token: once in the URL, then in a cookie that scripts cannot read. Pages may load only resources of this server:
no inline script, no inline style, no frame, no form to other sites. Requests that a browser marks as cross-site are
refused.

Not protected against: anyone who can read this machine's files, or its network traffic if no TLS proxy is in front.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
LOOPBACK = ("127.0.0.1", "::1", "localhost")
COOKIE = "cairn-viewer"


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that is bound to `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """Checks requests before an application, and adds security headers to all responses."""

    def __init__(self, app: ASGIApp, host: str = "127.0.0.1", token: str | None = None) -> None:
        """Guard `app`, which is bound to `host`; with a token, visitors must show it."""
        self._app, self._token = app, token
        self._is_open = not is_loopback(host)
        self._names = {*LOOPBACK, host.lower(), *({socket.gethostname().lower()} if self._is_open else ())}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        answer = self._refused(scope)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(message)
            await send(message)

        await (answer or self._app)(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> Response | None:
        """Return the response that refuses a request, or None if it is allowed."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if not self._knows(headers.get(b"host", "")):
            return PlainTextResponse("This server does not go by that name; use the address that it printed.\n", 421)
        if headers.get(b"sec-fetch-site") == "cross-site":
            text = "Another site asked for this page. Open the address that `cairn view` printed.\n"
            return PlainTextResponse(text, 403)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("Pages can only be looked at.\n", 405, {"Allow": "GET, HEAD"})
        return None if self._token is None else self._challenged(scope, headers, self._token)

    def _knows(self, host: str) -> bool:
        name = host.lower().rpartition(":")[0] if _has_port(host) else host.lower()
        name = name.removeprefix("[").removesuffix("]")
        return name in self._names or (self._is_open and _is_address(name))

    def _challenged(self, scope: Scope, headers: MutableMapping[bytes, str], token: str) -> Response | None:
        if _same(_cookie(headers.get(b"cookie", "")), token):
            return None
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if not _same(dict(asked).get("token", ""), token):
            text = "Open the address that `cairn view` printed: it ends with a token.\n"
            return PlainTextResponse(text, 401, {"Cache-Control": "no-store"})
        rest = urlencode([(name, value) for name, value in asked if name != "token"])
        path = "/" + scope["path"].lstrip("/\\")
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303, {"Cache-Control": "no-store"})
        answer.set_cookie(COOKIE, token, httponly=True, samesite="lax")
        return answer


def _add_headers(message: MutableMapping[str, Any]) -> None:  # Any: as in ASGI
    there = {name.lower() for name, _ in message["headers"]}
    more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
    message["headers"] = [*message["headers"], *(pair for pair in more if pair[0] not in there)]


def _has_port(host: str) -> bool:
    return host.rpartition(":")[2].isdigit() and (host.startswith("[") or host.count(":") == 1)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _same(given: str, token: str) -> bool:
    """Compare in constant time, independent of the first difference."""
    return hmac.compare_digest(given.encode(), token.encode())
