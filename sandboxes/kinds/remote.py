"""Sandboxes on other machines, behind a server (`server.py`), over HTTP with a token.

A request that did not reach the server (no connection, no room for a session) is retried for a while. A request that
may have reached it is not: it is a `SandboxFailure`, and so is a lost session. The token never appears in a message or
in a recorded configuration.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast, get_args
from urllib.parse import urlsplit

import httpx2 as httpx
from pydantic import Field, SecretStr, field_validator

from cairn.core.errors import CairnError, SandboxFailure
from cairn.core.plugins import Plugin
from cairn.core.text import printable
from cairn.sandboxes import wire
from cairn.sandboxes.base import Limits, Sandbox, SandboxConfig
from cairn.sandboxes.records import LimitName
from cairn.sandboxes.remote import protocol
from cairn.sandboxes.sandbox_process import SandboxLost

_LONGEST_WAIT_S = 10.0
_SLACK_S = 10.0  # for the network, and for another request to the same session
_KEPT_S = 30.0  # time that an idle connection is kept
_MOST_JSON = 64 << 20
_NOT_OURS = (404, 408, 429)  # status codes that are not errors of the request itself
_BAD_GATEWAY = 502
_SHOWN = 300  # characters of a refusal


class RemoteConfig(SandboxConfig):
    """The server, and how long to wait for it."""

    url: str = Field("http://127.0.0.1:8600", description="Where `cairn sandbox serve` listens.")
    token: SecretStr | None = Field(None, description="The server's token; better kept out of files of settings.")
    token_file: str | None = Field(
        None, description="File that holds the token. None, and no `token`: the variable CAIRN_SANDBOX_TOKEN does."
    )
    connect_s: float = Field(5.0, gt=0, description="Seconds until a connection must be open.")
    start_s: float = Field(60.0, gt=0, description="Seconds until a new session must be there.")
    retry_s: float = Field(60.0, ge=0, description="Seconds to retry a server that is unreachable or full.")
    backoff_s: float = Field(0.25, gt=0, description="Scale of the waits between: doubled each time, at random.")

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
            raise ValueError("expected an address such as http://sandboxes:8600, without a user name or password")
        return url.rstrip("/")


class Remote(Sandbox):
    """Sessions on another machine."""

    name: ClassVar[str] = "remote"
    promises: ClassVar[str] = "the promises of the server's kind of sandbox; this machine runs nothing"
    no_network: ClassVar[str | None] = "its network is set on the server: cairn sandbox serve --set 'network=[...]'"

    def __init__(self, config: SandboxConfig) -> None:
        super().__init__(config)
        self._making = threading.Lock()
        self._client: RemoteClient | None = None
        self._process = 0  # process id of the client's owner: a fork shares no connections with its parent

    def problem(self) -> str | None:
        """Return why the server does not answer.

        Once it has answered, failures are those of sessions.
        """
        try:
            client = self._connected()
            if not client.has_answered:
                answer = client.ask("GET", "/sandbox", b"", client.config.connect_s, retry_s=0)
                return None if answer.status == 200 else f"{client.refused(answer)}; is this a sandbox server?"
        except CairnError as error:
            return str(error)
        return None

    def launch(self, limits: Limits) -> RemotePlace:
        """Start a sandbox; see `base.Launcher`."""
        return RemotePlace(self._connected(), limits)

    def close(self) -> None:
        """Close the connections; the server closes open sessions when they are idle."""
        with self._making:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _connected(self) -> RemoteClient:
        assert isinstance(self.config, RemoteConfig)
        with self._making:
            if self._client is None or self._process != os.getpid():
                self._client, self._process = RemoteClient(self.config), os.getpid()
            return self._client


class RemotePlace:
    """A session at a server."""

    def __init__(self, client: RemoteClient, limits: Limits) -> None:
        """Open the session.

        Raises:
            SandboxFailure: the server is not reachable, has no room, or could not start it.
            CairnError: the server refuses the token, or the limits.
        """
        self._client, self._hit = client, cast(LimitName | None, None)
        self._most = limits.disk_bytes + limits.file_bytes + 4 * limits.output_bytes + _MOST_JSON
        answer = client.ask("POST", "/sessions", limits.model_dump_json().encode(), client.config.start_s)
        if answer.status != 201:
            raise SandboxFailure(client.refused(answer))
        try:
            data = json.loads(answer.body)
            self.home = str(data["home"])
            self.env: Mapping[str, str] = {str(key): str(value) for key, value in data["env"].items()}
            self._path, self._idle_s = f"/sessions/{data['id']}", float(data["idle_s"])
            self._max_body = int(data["max_body_bytes"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise SandboxFailure(f"{client.config.url}: expected a session, got {answer.body!r:.100}") from None

    def request(self, message: Mapping[str, Any], blob: bytes, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Send a request and return the answer; see `SandboxProcess`."""
        body = wire.packed(message, blob)
        if len(body) > self._max_body:
            raise CairnError(
                f"A request of {len(body)} bytes; the server takes {self._max_body} (its option --max-body-mib)"
            )
        answer = self._client.ask("POST", f"{self._path}?timeout_s={timeout_s:g}", body, timeout_s, most=self._most)
        self._hit = answer.limit
        if answer.status == 404:
            raise SandboxFailure(
                f"{self._client.config.url}: the session is gone: the server has restarted, or has closed it because "
                f"nobody used it for {self._idle_s:g} s (cairn sandbox serve --idle-s)"
            )
        if answer.status != 200:
            failure = SandboxLost if _is_lost(answer) else SandboxFailure
            raise failure(self._client.refused(answer))
        return protocol.unpacked(answer.body)

    def limit_hit(self) -> LimitName | None:
        """Return the limit that the server's control groups enforced in the last request."""
        hit, self._hit = self._hit, None
        return hit

    def close(self) -> None:
        """End the session; if the server cannot be reached, it ends idle sessions itself."""
        with contextlib.suppress(CairnError):
            self._client.ask("DELETE", self._path, b"", self._client.config.connect_s, retry_s=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteAnswer:
    """An answer of the server."""

    status: int
    body: bytes
    limit: LimitName | None  # the limit that its control groups enforced; None: none


class RemoteClient:
    """A client of one server; thread-safe."""

    def __init__(self, config: RemoteConfig) -> None:
        """Read the token; connections are made when needed.

        Raises:
            CairnError: no token is configured.
        """
        self.config = config
        self.has_answered = False
        given = None if config.token is None else config.token.get_secret_value()
        headers = {"Authorization": f"Bearer {protocol.token(given, config.token_file)}", "Accept-Encoding": "identity"}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEPT_S)
        self._http = httpx.Client(headers=headers, limits=limits)
        self._rng = random.Random()  # for retry delays only

    def ask(
        self,
        method: str,
        path: str,
        body: bytes,
        timeout_s: float,
        *,
        retry_s: float | None = None,
        most: int = _MOST_JSON,
    ) -> RemoteAnswer:
        """Send a request and return its answer: 2xx, or a failure of the sandbox or the server.

        Args:
            method: HTTP method.
            path: path at the server.
            body: the request's body.
            timeout_s: seconds to wait for the answer.
            retry_s: seconds to retry while the server is unreachable or full; None: as configured.
            most: limit of the answer in bytes.

        Raises:
            SandboxFailure: no answer arrived.
            CairnError: the server refuses the token or the request.
        """
        until = time.monotonic() + (self.config.retry_s if retry_s is None else retry_s)
        for attempt in itertools.count(1):
            try:
                answer = self._once(method, path, body, timeout_s, most)
                if answer.status != 503:
                    return self._checked(answer)
                trouble = self.refused(answer)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                trouble = f"{self.config.url}: no server answers ({error}); start one there with: cairn sandbox serve"
            wait = self._rng.uniform(0.0, min(_LONGEST_WAIT_S, self.config.backoff_s * 2.0 ** min(attempt, 20)))
            if time.monotonic() + wait > until:
                raise SandboxFailure(f"{trouble}; given up after {attempt} attempts (setting retry_s)")
            time.sleep(wait)
        raise AssertionError("attempts are counted without end")

    def refused(self, answer: RemoteAnswer) -> str:
        """Return the message of an answer that refuses a request."""
        try:
            message = str(json.loads(answer.body)["error"])
        except (ValueError, KeyError, TypeError):
            message = answer.body.decode("utf-8", "replace")
        return f"{self.config.url}: status {answer.status}: {printable(message[:_SHOWN])}"

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def _once(self, method: str, path: str, body: bytes, timeout_s: float, most: int) -> RemoteAnswer:
        """Send a request once.

        Raises:
            httpx.ConnectError, httpx.ConnectTimeout: it was not sent.
            SandboxFailure: the answer is missing or incomplete.
        """
        parts = bytearray()
        timeout = httpx.Timeout(timeout_s + _SLACK_S, connect=self.config.connect_s, pool=None)
        try:
            with self._http.stream(method, self.config.url + path, content=body, timeout=timeout) as response:
                for part in response.iter_bytes():
                    parts += part
                    if len(parts) > most:
                        raise SandboxFailure(f"{self.config.url}: an answer of more than {most} bytes")
                limit = response.headers.get(protocol.LIMIT_HEADER)
                known = cast(LimitName, limit) if limit in get_args(LimitName) else None
                return RemoteAnswer(status=response.status_code, body=bytes(parts), limit=known)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise
        except httpx.HTTPError as error:
            raise SandboxFailure(f"{self.config.url}: no answer ({type(error).__name__}: {error})") from error

    def _checked(self, answer: RemoteAnswer) -> RemoteAnswer:
        """Return an answer unless the request itself was wrong."""
        if answer.status in (401, 403):
            raise CairnError(
                f"{self.config.url}: the server refuses the token; give it the same one that the server has, with "
                f"`token_file` or the variable {protocol.TOKEN_ENV}"
            )
        if 300 <= answer.status < 500 and answer.status not in _NOT_OURS:
            raise CairnError(self.refused(answer))
        self.has_answered = self.has_answered or answer.status in (200, 201)
        return answer


def _is_lost(answer: RemoteAnswer) -> bool:
    """Return whether the server reports a failure of the session's sandbox, not its own."""
    try:
        return answer.status == _BAD_GATEWAY and json.loads(answer.body)["is_lost"] is True
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


SANDBOX = Plugin(RemoteConfig, Remote)
