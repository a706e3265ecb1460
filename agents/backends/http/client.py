"""A client of an OpenAI-compatible server: requests run on one background thread.

A ticket identifies each result. Transient errors (failed or broken connections, timeouts, 408, 409, 429, 5xx) are
retried with exponential backoff or after the wait that the server asks for, within limits on attempts and time. Other
errors become a `ModelFailure` with the status and the start of the response. If the server rejects the URL, the key or
the model before its first successful answer, the run stops. The API key never appears in a message or a log. Redirects
are not followed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import queue
import random
import threading
from collections.abc import Coroutine, Mapping
from typing import Any

import httpx2 as httpx

from cairn.agents.backends.http.config import ModelServerConfig, PriceConfig, address
from cairn.agents.backends.http.limits import Limiter, RateShare
from cairn.agents.backends.http.usage import Tally, tokens_of
from cairn.core.errors import CairnError, ModelFailure
from cairn.core.http_client import asked_wait, backoff, is_passing, read_key, used_up_for
from cairn.core.text import printable

_SHOWN = 300  # characters of a refusal's body in messages
_WRONG_SETTING = (301, 302, 303, 307, 308, 401, 403, 404, 405)
_HINTS = {401: "is the key right, in the variable that key_env names?", 403: "may this key do that?"}


class ServerRefusal(ModelFailure):
    """The server rejected a request; a retry would not help."""

    def __init__(self, status: int, body: str, message: str) -> None:
        self.status, self.body = status, body
        super().__init__(message)


class _Passing(Exception):  # noqa: N818  (a transient condition, not yet an error)
    """A transient error with the server's requested minimum wait; None: not specified."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class Client:
    """A client of one server, with one background thread."""

    def __init__(self, config: ModelServerConfig) -> None:
        self._config, self._url, self._key = config, address(config), read_key(config.key_env)
        prices = config.prices or PriceConfig()
        cached = prices.prompt if prices.cached is None else prices.cached
        self.tally = Tally(prices.prompt, cached, prices.completion, is_priced=config.prices is not None)
        self._limiter = Limiter(config.max_in_flight, config.requests_per_minute, config.tokens_per_minute)
        self._rng = random.Random()  # used for waits only
        self.outages = 0  # connections that failed or broke
        self._has_answered = False
        self._tickets = itertools.count()
        self._tasks: dict[int, asyncio.Task[None]] = {}  # accessed by the background thread only
        self._inbox: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._http = self._new_http()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cairn-client", daemon=True)
        self._thread.start()

    def _new_http(self) -> httpx.AsyncClient:
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        return httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(None, connect=self._config.connect_s),
            limits=httpx.Limits(max_connections=self._config.max_in_flight + 1),
        )

    # -- in the caller's thread ----------------------------------------------------------------------------------

    def send(self, path: str, body: Mapping[str, Any], tokens: int) -> int:
        """Send a request without waiting; return its ticket.

        `tokens` is the estimated count of prompt and reply.
        """
        ticket = next(self._tickets)
        self._loop.call_soon_threadsafe(self._begin, ticket, self._answer(ticket, path, body, tokens))
        return ticket

    def arrived(self, wait_s: float) -> list[tuple[int, Any]]:
        """Return tickets with their results or failures; wait up to `wait_s` for one.

        Raises:
            CairnError: the server rejects the settings.
        """
        found: list[tuple[int, Any]] = []
        while True:
            try:
                found.append(self._inbox.get(block=wait_s > 0 and not found, timeout=wait_s or None))
            except queue.Empty:
                break
        for _, value in found:
            if isinstance(value, BaseException) and not isinstance(value, ModelFailure):
                raise value
        return found

    def cancel(self, ticket: int) -> None:
        """Cancel a request; its result may still arrive."""
        self._loop.call_soon_threadsafe(self._drop, ticket)

    def call(
        self, path: str, body: Mapping[str, Any] | None = None, *, once: bool = False, is_json: bool = True
    ) -> Any:  # Any: JSON
        """Send a request outside the limits and return its response; without a body it is a GET.

        Transient errors are retried unless `once` is set. `path` may start at the server's root: ``//pause``. Returns
        None if `is_json` is false.

        Raises:
            ModelFailure: the request failed.
        """
        work = self._ask(path, body, None, 1 if once else self._config.attempts)
        text = asyncio.run_coroutine_threadsafe(work, self._loop).result()
        return self._read(text) if is_json else None

    def close(self) -> None:
        """Cancel all requests in flight and end the thread."""
        if not self._thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # -- in the background thread ----------------------------------------------------------------------------------

    def _begin(self, ticket: int, work: Coroutine[Any, Any, None]) -> None:
        self._tasks[ticket] = self._loop.create_task(work)

    def _drop(self, ticket: int) -> None:
        if (task := self._tasks.pop(ticket, None)) is not None:
            task.cancel()

    async def _end(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._http.aclose()

    async def _answer(self, ticket: int, path: str, body: Mapping[str, Any], tokens: int) -> None:
        value: Any  # Any: JSON or an exception
        try:
            taken = RateShare(tokens)
            value = self._read(await self._ask(path, body, taken, self._config.attempts))
            counted = tokens_of(value)
            taken.tokens = tokens if counted is None else counted[0] + counted[2]
            self.tally.reply(counted)
        except Exception as error:  # noqa: BLE001  (raised in a thread: `arrived` raises or returns it)
            value = error
        self._tasks.pop(ticket, None)
        self._inbox.put((ticket, value))

    async def _ask(self, path: str, body: Mapping[str, Any] | None, taken: RateShare | None, most: int) -> bytes:
        """Return the response body of one request, after at most `most` attempts.

        Args:
            path: see `call`.
            body: JSON; None: this is a GET.
            taken: its share of the limits; None: no limits apply.
            most: maximum number of attempts.
        """
        content = None if body is None else json.dumps(body).encode()
        spent = 0.0  # seconds of attempts and waits between them, without the waits of our own limits
        for attempt in itertools.count(1):
            queued_at = self._loop.time()
            async with self._limiter.place(taken) if taken is not None else contextlib.nullcontext():
                began = self._loop.time()
                self.tally.add(requests=1, waited_s=began - queued_at)
                try:
                    return await self._attempt(path, content)
                except _Passing as trouble:
                    passing = trouble
            spent += self._loop.time() - began
            wait = backoff(attempt, self._config.backoff_s, self._rng) if passing.wait_s is None else passing.wait_s
            if attempt == most or spent + wait > self._config.retry_s:
                self.tally.add(failures=1)
                raise ModelFailure(
                    f"{passing}; given up after {attempt} attempts in {spent:.1f} s, the next one in {wait:.1f} s "
                    "(settings attempts, retry_s)"
                )
            if passing.wait_s is not None:
                self._limiter.hold(wait)
            self.tally.add(retries=1, waited_s=wait)
            spent += wait
            await asyncio.sleep(wait)
        raise AssertionError("attempts are counted without end")

    async def _attempt(self, path: str, content: bytes | None) -> bytes:
        """Send a request once and return the response body.

        Raises:
            _Passing: a transient error.
            ModelFailure: a permanent error.
        """
        try:
            async with asyncio.timeout(self._config.reply_s):
                status, headers, text = await self._exchange(path, content)
        except TimeoutError:
            raise _Passing(f"{self._url}: no whole reply within {self._config.reply_s} s (setting reply_s)") from None
        except httpx.TransportError as error:
            self.outages += 1
            raise _Passing(self._hide(f"{self._url}: {type(error).__name__}: {error}")) from None
        except httpx.HTTPError as error:
            raise self._given_up(f"{type(error).__name__}: {error}") from None
        if is_passing(status):
            raise _Passing(self._refused(status, text), asked_wait(headers))
        if not 200 <= status < 300:
            raise self._refusal(status, text)
        if (wait := used_up_for(headers)) is not None:
            self._limiter.hold(min(wait, self._config.retry_s))
        self._has_answered = True
        return text

    async def _exchange(self, path: str, content: bytes | None) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body."""
        url = httpx.URL(self._url).join(path[1:]) if path.startswith("//") else f"{self._url}{path}"
        most, body = self._config.max_answer_mib * 2**20, bytearray()
        async with self._http.stream(
            "GET" if content is None else "POST", url, content=content, headers={"Content-Type": "application/json"}
        ) as response:
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > most:
                    raise self._given_up(f"the answer is longer than {most} bytes (setting max_answer_mib)")
            return response.status_code, response.headers, bytes(body)

    def _read(self, text: bytes) -> Any:
        """Return the JSON of a body; an empty body is None."""
        if not text:
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._given_up(f"expected JSON ({error}), got {self._shown(text)}") from None

    def _refusal(self, status: int, text: bytes) -> CairnError:
        message = self._refused(status, text)
        if status in _WRONG_SETTING and not self._has_answered:
            return CairnError(f"{message}; {_HINTS.get(status, 'are url and model right?')}")
        self.tally.add(failures=1)
        return ServerRefusal(status, text.decode("utf-8", "replace"), message)

    def _given_up(self, message: str) -> ModelFailure:
        self.tally.add(failures=1)
        return ModelFailure(self._hide(f"{self._url}: {message}"))

    def _refused(self, status: int, text: bytes) -> str:
        return f"{self._url}: status {status}: {self._shown(text)}"

    def _shown(self, text: bytes) -> str:
        """Return the printable start of a body, without the API key."""
        return printable(self._hide(text.decode("utf-8", "replace"))[:_SHOWN])

    def _hide(self, text: str) -> str:
        return text.replace(self._key, "[the API key]") if self._key else text
