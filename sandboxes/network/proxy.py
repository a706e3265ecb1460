"""The HTTP between programs and a gateway: requests and refusals.

Two kinds of requests are understood: `CONNECT host:port`, which opens a tunnel for any bytes, and `GET
http://host:port/...` (or another method). The latter is forwarded with the listed host as its `Host`, one request per
connection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from cairn.core.text import printable
from cairn.sandboxes import destinations

_LINE = re.compile(r"([A-Z]{1,20}) ([!-~]{1,8000}) HTTP/1\.[01]")
_HEADER = re.compile(r"[!#-'*+.0-9A-Z^-z|~-]+:[^\r\n\0]*")
_OF_THIS_WAY = {"host", "connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "upgrade"}
_SHOWN = 100  # characters of the requested target
OPENED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class ProxyRefusal(Exception):  # noqa: N818  (an answer)
    """A refused request, and the answer for the program."""

    def __init__(self, status: str, target: str, why: str, *, more: str = "") -> None:
        """`status`: a number and a phrase; `more`: text added to the answer for its reader."""
        super().__init__(f"{printable(target[:_SHOWN])}: {why}")
        self.is_forbidden = status.startswith("403")
        body = f"{self}{more}\n".encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        self.answer = f"{head}Connection: close\r\n\r\n".encode() + body


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRequest:
    """A program's request."""

    host: str
    port: int
    onward: bytes  # the data to send first to the host; empty: only open a tunnel

    @property
    def target(self) -> str:
        """Host and port."""
        return destinations.joined(self.host, self.port)


def parsed(head: bytes) -> ProxyRequest:
    """Return the request in a head, which includes its final blank line.

    Raises:
        ProxyRefusal: it is malformed.
    """
    line, *headers = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    asked = _LINE.fullmatch(line)
    if asked is None or not all(map(_HEADER.fullmatch, headers)):
        raise _misunderstood(line)
    method, target = asked.groups()
    try:
        if method == "CONNECT":
            host, port = destinations.split(target)
            return ProxyRequest(host=host, port=port, onward=b"")
        parts = urlsplit(target)
        if parts.scheme != "http" or "@" in parts.netloc:
            raise _misunderstood(line)
        host, port = destinations.split(parts.netloc if parts.port else f"{parts.netloc.removesuffix(':')}:80")
    except ValueError:
        raise _misunderstood(line) from None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    named = destinations.joined(host, port).removesuffix(":80")
    kept = [header for header in headers if header.partition(":")[0].lower() not in _OF_THIS_WAY]
    onward = "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {named}", "Connection: close", *kept, "", ""])
    return ProxyRequest(host=host, port=port, onward=onward.encode("latin-1"))


def _misunderstood(line: str) -> ProxyRefusal:
    return ProxyRefusal("400 Bad Request", line, "expected CONNECT host:port, or GET http://host:port/path")
