"""Sessions for asyncio: the same methods as coroutines, with a bound on programs at once, fair between owners."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cairn.sandboxes.base import Session
from cairn.sandboxes.pool import SessionPool
from cairn.sandboxes.records import Entry, Result, Snapshot

T = TypeVar("T")


class AsyncSession:
    """A session whose methods are awaited; calls that come together are carried out one after another."""

    def __init__(self, session: Session, pool: AsyncPool, owner: object) -> None:
        """Made by `AsyncPool.lease`."""
        self.session, self._pool, self._owner = session, pool, owner
        self._lock = asyncio.Lock()

    async def run(
        self,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        wall_s: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Result:
        """Run a command; see `Session.run`."""
        return await self._program(lambda: self.session.run(command, stdin=stdin, wall_s=wall_s, env=env))

    async def run_python(
        self, code: str, *, stdin: bytes = b"", wall_s: float | None = None, env: Mapping[str, str] | None = None
    ) -> Result:
        """Run Python source; see `Session.run_python`."""
        return await self._program(lambda: self.session.run_python(code, stdin=stdin, wall_s=wall_s, env=env))

    async def start_program(self, command: Sequence[str] | str, *, env: Mapping[str, str] | None = None) -> None:
        """Start the program that stays open; see `Session.start_program`."""
        await self._program(lambda: self.session.start_program(command, env=env))

    async def send_line(self, line: str, *, wall_s: float | None = None) -> Result:
        """Say a line to the open program; see `Session.send_line`."""
        return await self._program(lambda: self.session.send_line(line, wall_s=wall_s))

    async def write_file(self, path: str, data: bytes | str, mode: int = 0o644) -> None:
        """Write a file; see `Session.write_file`."""
        await self._request(lambda: self.session.write_file(path, data, mode))

    async def read_file(self, path: str, max_bytes: int | None = None) -> bytes:
        """Read a file; see `Session.read_file`."""
        return await self._request(lambda: self.session.read_file(path, max_bytes))

    async def list_files(self) -> tuple[Entry, ...]:
        """List the work folder; see `Session.list_files`."""
        return await self._request(self.session.list_files)

    async def snapshot(self) -> Snapshot:
        """Return the work folder; see `Session.snapshot`."""
        return await self._request(self.session.snapshot)

    async def restore(self, snapshot: Snapshot) -> None:
        """Put a work folder back; see `Session.restore`."""
        await self._request(lambda: self.session.restore(snapshot))

    async def _program(self, work: Callable[[], T]) -> T:
        async with self._lock, self._pool.turn(self._owner):
            return await self._pool.in_thread(work)

    async def _request(self, work: Callable[[], T]) -> T:
        async with self._lock:
            return await self._pool.in_thread(work)


class AsyncPool:
    """A pool for one event loop.

    A coroutine that is cancelled does not end its program before the program's own limits; its session comes back when
    the program has ended.
    """

    def __init__(self, pool: SessionPool, *, at_once: int) -> None:
        """`at_once`: programs that may run at the same time."""
        self._pool = pool
        self._threads = ThreadPoolExecutor(at_once + 4, thread_name_prefix="cairn-sessions")  # files need no turn
        self._free = at_once
        self._waiting: dict[object, list[asyncio.Future[None]]] = {}  # by owner, whose turn comes first

    @contextlib.asynccontextmanager
    async def lease(self, owner: object = None) -> AsyncIterator[AsyncSession]:
        """Give an empty session; `owner`: whose turns it takes, None: its own."""
        session = await self.in_thread(self._pool.take)
        held = AsyncSession(session, self, session if owner is None else owner)
        try:
            yield held
        finally:
            async with held._lock:  # a program that nobody waits for any more
                await asyncio.shield(self.in_thread(lambda: self._pool.give_back(session)))

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Carry something out in a thread; cancelled, it goes on to its end first."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            raise

    @contextlib.asynccontextmanager
    async def turn(self, owner: object) -> AsyncIterator[None]:
        """Wait for a turn and hold it; among those who wait, one of each owner in turn."""
        if self._free > 0:
            self._free -= 1
        else:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(owner, []).append(future)
            try:
                await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled():
                    self._pass_on()
                raise
        try:
            yield
        finally:
            self._pass_on()

    def close(self) -> None:
        """End the threads and the sessions that wait."""
        self._threads.shutdown()
        self._pool.close()

    def _pass_on(self) -> None:
        while self._waiting:
            owner = next(iter(self._waiting))
            queue = self._waiting.pop(owner)
            future = queue.pop(0)
            if queue:
                self._waiting[owner] = queue  # behind all others
            if not future.done():
                future.set_result(None)
                return
        self._free += 1
