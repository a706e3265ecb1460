"""HTTP server for the sandboxes of this machine, with a bearer token.

A session is a sandbox process on this machine; its requests are those of the supervisor's protocol, one at a time, as
bytes. Requests of the launcher alone, such as the confinement, are refused, and no session gets more than the limits
that the server allows. Idle sessions are closed after a timeout. The server has no encryption, and a connection that
never sends a whole head stays open: run it behind a reverse proxy, or in an isolated network.

    GET /health                  answers without a token
    GET /sandbox                 the kind, and the number of sessions
    POST /sessions               limits as JSON -> id, home, env; 503 if the server is full
    POST /sessions/ID?timeout_s= a message -> its answer, both as in `wire`; 404 if the session does not exist
    DELETE /sessions/ID
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hmac
import math
import secrets
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pydantic import Field
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from cairn.core.config import Config, build
from cairn.core.errors import CairnError, SandboxFailure
from cairn.core.server_socket import listen
from cairn.sandboxes import wire
from cairn.sandboxes.base import Limits, Sandbox
from cairn.sandboxes.inside.process_limits import SLOWEST
from cairn.sandboxes.remote.protocol import LIMIT_HEADER, unpacked
from cairn.sandboxes.sandbox_process import SandboxLost, SandboxProcess

REQUESTS = frozenset(
    ("run", "open", "talk", "shut", "write", "read", "remove", "list", "digest", "snapshot", "restore", "reset", "warm")
)
T = TypeVar("T")
_HEAD_BYTES = 16 << 10  # of a request
_CONNECTIONS_A_SESSION, _FURTHER_CONNECTIONS = 4, 64  # beyond which requests are answered with 503
_BODY_S = 60.0  # until a whole body has arrived
_BEYOND_WALL_S = 60.0  # time of a request beyond the longest time of a program
_CLOSE = {"Connection": "close"}  # of answers to clients that have not shown the token
_KEEP_ALIVE_S = 75  # longer than the client keeps an idle connection, so that it never writes into a closed one


class SandboxServerConfig(Config):
    """Limits of the server."""

    sessions: int = Field(32, ge=1, description="Sessions at once.")
    idle_s: float = Field(900.0, gt=0, description="Seconds without a request after which a session is closed.")
    max_body_mib: int = Field(128, ge=1, description="Size of a request.")
    most: dict[str, Any] = Field(
        {}, description="The most that a session may ask for, by field of `Limits`."
    )  # Any: numbers


class _Held:
    """A session: its sandbox process, and the lock of its requests."""

    def __init__(self, place: SandboxProcess, limits: Limits) -> None:
        self.place, self.limits = place, limits
        self.lock = asyncio.Lock()
        self.used = time.monotonic()


class SandboxServer:
    """All sessions of a server."""

    def __init__(self, sandbox: Sandbox, config: SandboxServerConfig) -> None:
        self._sandbox, self._config = sandbox, config
        self._most = build(Limits, config.most, "most").model_dump(include=set(config.most))
        self._sessions: dict[str, _Held] = {}
        self._num_starting = 0
        # Own threads, which stay alive: the kernel ends a bubblewrap together with the thread that started it.
        self._threads = ThreadPoolExecutor(config.sessions + 1, thread_name_prefix="cairn-sandbox")

    @contextlib.asynccontextmanager
    async def life(self, _app: Starlette) -> AsyncIterator[None]:
        """Close idle sessions while the server runs, and all sessions at its end."""
        tidying = asyncio.create_task(self._close_idle())
        try:
            yield
        finally:
            tidying.cancel()
            held = [self._sessions.popitem()[1] for _ in range(len(self._sessions))]
            await asyncio.gather(*(self._in_thread(one.place.close) for one in held))  # even if in use
            self._threads.shutdown()
            self._sandbox.close()

    # -- answers -----------------------------------------------------------------------------------------------------

    async def health(self, _request: Request) -> Response:
        """Return that the server is up."""
        return JSONResponse({"is_up": True}, headers=_CLOSE)

    async def about(self, _request: Request) -> Response:
        """Return the kind of sandbox and the number of sessions."""
        return JSONResponse(
            {"kind": self._sandbox.name, "sessions": len(self._sessions), "most_sessions": self._config.sessions}
        )

    async def start(self, request: Request) -> Response:
        """Open a session."""
        limits = self._limits(await self._body(request))
        if len(self._sessions) + self._num_starting >= self._config.sessions:
            raise HTTPException(503, f"all {self._config.sessions} sessions are in use")
        self._num_starting += 1
        try:
            place = await self._in_thread(self._sandbox.launch, limits)
        finally:
            self._num_starting -= 1
        name = secrets.token_urlsafe(16)
        self._sessions[name] = _Held(place, limits)
        settings = {"idle_s": self._config.idle_s, "max_body_bytes": self._max_body}
        return JSONResponse({"id": name, "home": place.home, "env": dict(place.env), **settings}, 201)

    async def request(self, request: Request) -> Response:
        """Forward a message to a session's sandbox process."""
        body = await self._body(request)
        held = self._held(request)
        async with held.lock:
            if self._sessions.get(request.path_params["id"]) is not held:
                raise HTTPException(404, "the session was closed meanwhile")
            try:
                message, blob = unpacked(body)
                timeout_s = _checked(message, request.query_params.get("timeout_s", ""), held.limits)
            except (SandboxFailure, ValueError) as error:
                raise HTTPException(400, str(error)) from None
            try:
                return await self._in_thread(self._answer, held.place, message, blob, timeout_s)
            finally:
                held.used = time.monotonic()

    async def end(self, request: Request) -> Response:
        """Close a session."""
        self._held(request)
        await self._close(request.path_params["id"])
        return Response(status_code=204)

    # -- helpers -----------------------------------------------------------------------------------------------------

    @property
    def _max_body(self) -> int:
        return self._config.max_body_mib << 20

    async def _in_thread(self, work: Callable[..., T], *given: Any) -> T:  # Any: arguments of `work`
        return await asyncio.get_running_loop().run_in_executor(self._threads, functools.partial(work, *given))

    @staticmethod
    def _answer(place: SandboxProcess, message: dict[str, Any], blob: bytes, timeout_s: float) -> Response:  # Any: JSON
        place.limit_hit()  # discard limits that earlier requests hit
        try:
            answer, data = place.request(message, blob, timeout_s)
        except SandboxFailure as error:
            body = {"error": str(error), "is_lost": isinstance(error, SandboxLost)}
            return JSONResponse(body, 502, _naming(place.limit_hit()))
        return Response(wire.packed(answer, data), 200, _naming(place.limit_hit()), "application/octet-stream")

    async def _body(self, request: Request) -> bytes:
        parts = bytearray()
        try:
            async with asyncio.timeout(_BODY_S):
                async for part in request.stream():
                    parts += part
                    if len(parts) > self._max_body:
                        raise HTTPException(413, f"a request may have {self._max_body} bytes (--max-body-mib)")
        except TimeoutError:
            raise HTTPException(408, f"the request was not there within {_BODY_S:g} s") from None
        return bytes(parts)

    def _limits(self, body: bytes) -> Limits:
        try:
            limits = Limits.model_validate_json(body)
        except ValueError as error:
            raise HTTPException(400, f"expected limits as JSON: {error}") from None
        for name, most in self._most.items():
            if (asked := getattr(limits, name)) > most:
                raise HTTPException(400, f"{name}: {asked} is asked for; this server gives at most {most} (--most)")
        return limits

    def _held(self, request: Request) -> _Held:
        held = self._sessions.get(request.path_params["id"])
        if held is None:
            raise HTTPException(404, "there is no such session")
        return held

    async def _close(self, name: str) -> None:
        held = self._sessions.get(name)
        if held is not None:
            async with held.lock:
                if self._sessions.pop(name, None) is held:
                    await self._in_thread(held.place.close)

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(min(10.0, self._config.idle_s / 4))
            for name, held in list(self._sessions.items()):
                if not held.lock.locked() and time.monotonic() - held.used > self._config.idle_s:
                    await self._close(name)


class _Guard:
    """Rejects requests without the token, before anything else of them is read."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/health":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                refusal = JSONResponse({"error": "wrong token"}, 401, {"WWW-Authenticate": "Bearer", **_CLOSE})
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def make_app(sandbox: Sandbox, token: str, config: SandboxServerConfig) -> ASGIApp:
    """Return the application that serves a kind of sandbox.

    Raises:
        ConfigError: `config.most` has a name that is not a limit.
    """
    server = SandboxServer(sandbox, config)
    routes = [
        Route("/health", server.health),
        Route("/sandbox", server.about),
        Route("/sessions", server.start, methods=["POST"]),
        Route("/sessions/{id}", server.request, methods=["POST"]),
        Route("/sessions/{id}", server.end, methods=["DELETE"]),
    ]
    handlers: dict[Any, Any] = {HTTPException: _refused, CairnError: _failed}  # Any: Starlette's own type
    return _Guard(Starlette(routes=routes, lifespan=server.life, exception_handlers=handlers), token)


def serve(
    sandbox: Sandbox, token: str, config: SandboxServerConfig, host: str, port: int, announce: Callable[[str], None]
) -> None:
    """Serve until interrupted or terminated.

    `port`: 0 for any free one; `announce`: called with the URL once the server is reachable.

    Raises:
        CairnError: the kind does not work on this machine, or the port is in use.
    """
    import uvicorn

    if (problem := sandbox.problem()) is not None:
        raise CairnError(f"The sandbox {sandbox.name!r} cannot be used: {problem}")
    app = make_app(sandbox, token, config)
    with listen(host, port) as listening:
        server = uvicorn.Server(
            uvicorn.Config(
                app, log_level="error", access_log=False, lifespan="on", ws="none", proxy_headers=False,
                server_header=False, timeout_keep_alive=_KEEP_ALIVE_S, timeout_graceful_shutdown=5,
                http="h11", h11_max_incomplete_event_size=_HEAD_BYTES,
                limit_concurrency=_CONNECTIONS_A_SESSION * config.sessions + _FURTHER_CONNECTIONS,
            )
        )  # fmt: skip
        announce(f"http://{host}:{listening.getsockname()[1]}")
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:
            return  # Ctrl-C ends the server; whether it arrives here depends on the event loop


def _checked(message: dict[str, Any], timeout: str, limits: Limits) -> float:  # Any: JSON
    """Check that clients may send a message, and return its time limit.

    Raises:
        ValueError: the request or a time is invalid.
    """
    if not isinstance(message.get("do"), str) or message["do"] not in REQUESTS:
        raise ValueError(f"expected a request among {', '.join(sorted(REQUESTS))}, got {message.get('do')!r:.40}")
    if "wall_s" in message:
        message["wall_s"] = min(_seconds(message["wall_s"]), limits.wall_s)
    return min(_seconds(timeout), SLOWEST * limits.wall_s + _BEYOND_WALL_S)


def _seconds(given: object) -> float:
    seconds = float(str(given))
    if not math.isfinite(seconds) or seconds <= 0:
        raise ValueError(f"expected seconds, got {given!r:.40}")
    return seconds


def _naming(limit: str | None) -> dict[str, str]:
    return {} if limit is None else {LIMIT_HEADER: limit}


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


async def _failed(_request: Request, error: Exception) -> Response:
    """Return a response for a sandbox that did not start."""
    return JSONResponse({"error": str(error)}, 502)
