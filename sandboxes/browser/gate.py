"""The only way out of a page: a proxy that serves the sites of an episode and nothing else.

A site is an ASGI application under a host name, without a server or a port: ``http://mail/`` is the application that
the episode registered as ``mail``. All other requests are refused and recorded: other names, this machine's own ports,
HTTPS, WebSockets.

A browser caches responses for longer than a lease. So it may cache only those that the site marks ``immutable`` (RFC
8246): content that never changes at its address, in any environment of this process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import unquote, urlsplit

import uvicorn

from cairn.core.server_socket import listen

Scope = MutableMapping[str, Any]  # Any: ASGI's
Site = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]
_CACHE = b"cache-control"
_MOST_RECORDED = 50  # number of refusals that are recorded


class Gate:
    """A proxy on a port of the loopback address; created and used in one event loop."""

    def __init__(self, *, keeps: bool = True) -> None:
        """Open the port, without sites; `keeps`: whether browsers may cache immutable responses."""
        self.sites: Mapping[str, Site] = {}
        self.refused: list[str] = []  # the first requests that had no site
        self.num_refused = 0
        self.num_open = 0  # requests without a complete response
        self._keeps = keeps
        self.visited = set[str]()  # hosts that were requested; cleared by the code that clears their data
        self.kept = set[str]()  # hosts of which browsers may have cached something; likewise
        self._socket = listen("127.0.0.1", 0)
        config = uvicorn.Config(
            self._answer,
            http="h11",  # httptools drops the host of a proxy request
            log_config=None,
            interface="asgi3",
            proxy_headers=False,
            lifespan="off",
            ws="none",
            server_header=False,
        )
        self._server = uvicorn.Server(config)
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """The URL of the proxy."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    async def start(self) -> None:
        """Start serving."""
        self._server.config.load()
        self._task = asyncio.create_task(self._server._serve([self._socket]))
        while not self._server.started:
            await asyncio.sleep(0.001)

    async def stop(self) -> None:
        """Stop serving and close open connections."""
        self._server.should_exit = self._server.force_exit = True
        if self._task is not None:
            await self._task

    def begin(self, sites: Mapping[str, Site]) -> None:
        """Serve these sites from now on, and clear the recorded refusals."""
        self.sites, self.refused, self.num_refused = dict(sites), [], 0

    async def _answer(self, scope: Scope, receive: Callable[[], Awaitable[Any]], send: Any) -> None:  # Any: ASGI's
        asked_for = scope["raw_path"].decode("latin-1")  # in the other path, escaped ? and # look like real ones
        target = urlsplit(asked_for)
        host = target.netloc.removesuffix(":80")
        site = self.sites.get(host) if target.scheme == "http" else None
        if site is None or scope["method"] == "CONNECT":
            await self._refuse(f"{scope['method']} {asked_for}", send)
            return
        self.visited.add(host)
        self.num_open += 1
        try:
            path = target.path or "/"
            place = {"path": unquote(path), "raw_path": path.encode("latin-1"), "server": (target.netloc, 80)}
            await site({**scope, **place}, receive, lambda message: send(self._with_cache_header(message, host)))
        finally:
            self.num_open -= 1

    async def _refuse(self, what: str, send: Any) -> None:  # Any: ASGI's
        self.num_refused += 1
        if len(self.refused) < _MOST_RECORDED:
            self.refused.append(what[:200])
        head = [(b"content-type", b"text/plain; charset=utf-8"), (_CACHE, b"no-store")]
        await send({"type": "http.response.start", "status": 403, "headers": head})
        await send({"type": "http.response.body", "body": b"This address cannot be reached from here."})

    def _with_cache_header(self, message: Scope, host: str) -> Scope:
        """Return a part of a response.

        It is marked `no-store` unless it is immutable and its site is still registered.
        """
        if message["type"] != "http.response.start":
            return message
        headers = list(message.get("headers", ()))
        never_changes = any(name.lower() == _CACHE and b"immutable" in value.lower() for name, value in headers)
        if self._keeps and never_changes and host in self.sites:
            self.kept.add(host)
            return message
        others = [header for header in headers if header[0].lower() != _CACHE]
        return {**message, "headers": [*others, (_CACHE, b"no-store")]}
