"""A proxy for one sandbox: carries its programs' connections to the addresses of a list.

The listening socket was created in the sandbox's own network and sent to this process: only this process listens there,
so programs cannot kill, trace or replace the listener. It runs in its own thread. A connection ends when one side
closes it, after a timeout without data, and with the programs. Connections beyond the maximum wait.

Not limited: the data rate, except by this process's own speed.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.destinations import AllowList, NotAllowed, Unknown
from cairn.sandboxes.network import proxy

MOST_AT_ONCE = 32
MOST_BYTES = 1 << 30  # both directions, until the sandbox is reset
IDLE_S = 60.0
_CONNECT_S = 10.0
_PAUSE_S = 0.005  # between two connections: programs cannot keep the host busy with accepting them
_NO_FILES_S = 0.1  # delay if this process can open no more files
_END_S = 5.0  # for sending a refusal
_FAULT_S = 30.0  # for steps that take no time, after which the thread must be stuck
_PART, _MOST_HEAD, _MOST_LEFT = 1 << 16, 1 << 16, 16 << 20
_MOST_RECORDED = 20  # refusals that are reported individually


class Gateway:
    """Handles the network connections of the programs of one sandbox."""

    def __init__(self, listener: socket.socket, allowed: AllowList) -> None:
        """Start; `listener` listens inside the sandbox, and `close` closes it."""
        self._listener, self._allowed = listener, allowed
        listener.setblocking(False)
        self._lock = threading.Lock()  # protects the counters
        self._bytes, self._num_refused, self._refused = 0, 0, list[str]()
        self._room = asyncio.Semaphore(MOST_AT_ONCE)
        self._open = set[asyncio.Task[None]]()
        self._lookups = ThreadPoolExecutor(2, thread_name_prefix="cairn-names")
        self._loop = asyncio.new_event_loop()
        self._accepting = self._loop.create_task(self._accept())
        self._thread = threading.Thread(target=self._run, name="cairn-gateway", daemon=True)
        self._thread.start()

    def refused(self) -> tuple[int, tuple[str, ...]]:
        """Return the number of refusals since the last call, and the first different ones in words."""
        with self._lock:
            refusals = self._num_refused, tuple(self._refused)
            self._num_refused, self._refused = 0, []
        return refusals

    def end_connections(self) -> None:
        """End all connections of ended programs, including those not yet accepted.

        Raises:
            SandboxFailure: this failed; the sandbox must not be used again.
        """
        if not self._thread.is_alive():
            raise SandboxFailure("A sandbox's gateway has ended by a fault")
        try:
            asyncio.run_coroutine_threadsafe(self._end_connections(), self._loop).result(_FAULT_S)
        except OSError as error:  # a timeout, or no descriptor left
            raise SandboxFailure(f"A sandbox's gateway cannot end its connections: {error!r}") from error

    def begin_anew(self) -> None:
        """Reset the counters."""
        with self._lock:
            self._bytes, self._num_refused, self._refused = 0, 0, []

    def close(self) -> None:
        """End all connections and the thread. A pending name lookup ends by itself."""
        with contextlib.suppress(RuntimeError):  # the thread has ended by a fault
            self._loop.call_soon_threadsafe(self._accepting.cancel)
        self._thread.join()
        self._lookups.shutdown(wait=False, cancel_futures=True)
        self._listener.close()

    # -- in the thread -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with contextlib.suppress(asyncio.CancelledError):
                self._loop.run_until_complete(self._accepting)
            self._loop.run_until_complete(self._end_accepted())
        finally:
            self._loop.close()

    async def _accept(self) -> NoReturn:
        while True:
            await self._room.acquire()
            try:
                connection, _ = await self._loop.sock_accept(self._listener)
            except OSError:  # this process has no descriptor left: connections wait
                self._room.release()
                await asyncio.sleep(_NO_FILES_S)
                continue
            task = self._loop.create_task(self._attend(connection))
            self._open.add(task)
            task.add_done_callback(functools.partial(self._gone, connection))
            await asyncio.sleep(_PAUSE_S)

    def _gone(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        connection.close()  # for a task that was cancelled before it started
        self._open.discard(task)
        self._room.release()

    async def _end_connections(self) -> None:
        while True:
            with contextlib.suppress(BlockingIOError):
                while True:
                    self._listener.accept()[0].close()
            await self._end_accepted()
            if not self._open:
                return

    async def _end_accepted(self) -> None:
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await asyncio.sleep(0)  # lets a connection that was just accepted join the set

    async def _attend(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=_MOST_HEAD)
        try:
            async with asyncio.timeout(IDLE_S) as idle:
                await self._serve(reader, writer, idle)
            await _closed(writer)
        except proxy.ProxyRefusal as refusal:
            if refusal.is_forbidden:
                self._count(str(refusal))
            await _send_answer(reader, writer, refusal.answer)
        except (OSError, EOFError):  # one side left, or no data came for too long: no one to answer
            pass
        finally:
            writer.transport.abort()  # does nothing if it is closed

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, idle: asyncio.Timeout) -> None:
        try:
            request = proxy.parsed(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            raise proxy.ProxyRefusal("431 Too Large", "-", f"a head of more than {_MOST_HEAD} bytes") from None
        there_reader, there_writer = await self._connected(request)
        try:
            (there_writer if request.onward else writer).write(request.onward or proxy.OPENED)
            ways = [
                asyncio.ensure_future(self._carry(reader, there_writer, idle)),
                asyncio.ensure_future(self._carry(there_reader, writer, idle)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            there_writer.transport.abort()

    async def _connected(self, request: proxy.ProxyRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection to the requested destination."""
        if self._bytes > MOST_BYTES:
            raise proxy.ProxyRefusal(
                "403 Forbidden", request.target, f"programs have moved {MOST_BYTES} bytes, the most"
            )
        try:
            addresses = await self._loop.run_in_executor(self._lookups, self._allowed.route, request.host, request.port)
        except NotAllowed as error:
            listed = f". Programs may reach {self._allowed}"
            raise proxy.ProxyRefusal(
                "403 Not allowed by the sandbox", request.target, str(error), more=listed
            ) from None
        except Unknown as error:
            raise proxy.ProxyRefusal("502 Bad Gateway", request.target, str(error)) from None
        why = ""
        for address in addresses:
            try:
                async with asyncio.timeout(_CONNECT_S):
                    return await asyncio.open_connection(address, request.port, limit=_PART)
            except OSError as error:  # the next address may answer
                why = error.strerror or "it did not answer in time"
        raise proxy.ProxyRefusal("502 Bad Gateway", request.target, why)

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, idle: asyncio.Timeout) -> None:
        """Carry bytes in one direction until their end, or until the limit is exceeded."""
        while data := await source.read(_PART):
            with self._lock:
                self._bytes += len(data)
            if self._bytes > MOST_BYTES:
                return
            idle.reschedule(self._loop.time() + IDLE_S)
            sink.write(data)
            await sink.drain()

    def _count(self, refusal: str) -> None:
        with self._lock:
            self._num_refused += 1
            if len(self._refused) < _MOST_RECORDED and refusal not in self._refused:
                self._refused.append(refusal)


async def _send_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: bytes) -> None:
    """Send the answer, and read the rest of the request: closing earlier would lose the answer."""
    with contextlib.suppress(OSError):
        async with asyncio.timeout(_END_S):
            writer.write(answer)
            writer.write_eof()
            left = _MOST_LEFT
            while left > 0 and (data := await reader.read(_PART)):
                left -= len(data)


async def _closed(writer: asyncio.StreamWriter) -> None:
    """Send the remaining bytes, as slowly as the program reads them."""
    with contextlib.suppress(OSError):
        async with asyncio.timeout(IDLE_S):
            writer.close()
            await writer.wait_closed()
