"""A browser for environments: one Chromium per process, and a pool of isolated pages in it.

A page reaches only the sites of its lease, which are applications of this process: no host, no port of this machine, no
file. A crash or hang fails its episode only, and the page or browser is replaced. If a Chromium exceeds its memory
limit, a new one is started beside it; holders of its pages take pages of the new one, and it ends with its last page.

Not protected against: vulnerabilities of Chromium itself. Its own sandbox is on unless this process is root;
`chromium_sandbox` overrides this.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError
from pydantic import Field

from cairn.core.config import Config
from cairn.core.errors import SandboxFailure
from cairn.sandboxes.browser.chromium import Launched, launched
from cairn.sandboxes.browser.find import find_browser
from cairn.sandboxes.browser.gate import Gate
from cairn.sandboxes.browser.loop import EventLoopThread
from cairn.sandboxes.browser.page import BrowserPage

T = TypeVar("T")
_START_S, _END_S = 60.0, 10.0
_LOOK_S = 10.0  # seconds between memory checks; one takes milliseconds
_PAGE_BYTES = 64 << 20  # allowed memory per leased page, beside the browser's own


class BrowserConfig(Config):
    """The browser's program, page size, and limits after which it or its pages are replaced."""

    path: str | None = Field(None, description="Chromium or Chrome; None: Playwright's own, or one on the PATH.")
    width: int = Field(1024, ge=100, description="Of a page, in pixels.")
    height: int = Field(768, ge=100, description="Of a page, in pixels.")
    keep: int = Field(2, ge=0, description="Pages that wait warm for a lease; each costs some processor time.")
    caches: bool = Field(
        True, description="Whether pages keep resources that a site declares immutable from lease to lease."
    )
    leases: int = Field(200, ge=1, description="Leases after which a page is replaced.")
    memory_bytes: int = Field(
        3 << 30,
        ge=1 << 28,
        description="Of all its processes, and 64 MiB for each leased page; beyond, the browser is replaced.",
    )
    step_s: float = Field(20.0, gt=0, description="Seconds after which a page hangs.")
    chromium_sandbox: bool | None = Field(
        None, description="Whether Chromium's own sandbox is on; None: unless this process is root."
    )


_BROWSERS: weakref.WeakSet[Browser] = weakref.WeakSet()
_INHERITED: list[object] = []  # state of the parent of a forked process: must be neither used nor finalised


def _forget_inherited() -> None:
    for browser in list(_BROWSERS):
        browser.forget()


os.register_at_fork(after_in_child=_forget_inherited)


class Browser:
    """One Chromium and its pages; any thread may lease a page. A fork starts its own Chromium."""

    def __init__(self, config: BrowserConfig | None = None) -> None:
        """Find the browser's program; the browser starts with the first lease."""
        self.config = config or BrowserConfig()
        self.replaced = 0  # pages and browsers that crashed, hung or exceeded limits
        self._path = find_browser(self.config.path)
        self._begin()
        _BROWSERS.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._loop: EventLoopThread | None = None
        self._running: Launched | None = None  # the Chromium that new pages come from
        self._of: dict[BrowserPage, Launched] = {}
        self._idle: list[BrowserPage] = []
        self._let_go = deque[BrowserPage]()  # released, and not yet returned to the pool
        self._look_at = 0.0  # time of the next memory check

    def forget(self) -> None:
        """In a fork, start without a Chromium and pages: those of the parent cannot be used."""
        _INHERITED.append((self._loop, self._running, self._of, self._idle, self._let_go))
        self._begin()

    @contextlib.contextmanager
    def lease(self) -> Iterator[BrowserPage]:
        """Lease a page exclusively until the block ends."""
        page = self.take()
        try:
            yield page
        finally:
            self.give_back(page)

    def take(self) -> BrowserPage:
        """Return a page for exclusive use; `BrowserPage.begin` clears it.

        Raises:
            ConfigError: the browser cannot have its own sandbox here.
            MissingProgramError: a shared library is missing.
            SandboxFailure: it does not start for another reason.
        """
        self._take_back()
        self._renew()
        with self._lock:
            running = self._started()
            running.num_leased += 1
            if self._idle:
                return self._idle.pop()
        try:
            page = self.run(self._new_page(running), _START_S)
        except SandboxFailure:
            self._leave(running)
            raise
        with self._lock:
            self._of[page] = running
        return page

    def has(self, page: BrowserPage) -> bool:
        """Return whether a page works and belongs to the current browser."""
        self._take_back()
        if time.monotonic() >= self._look_at:
            self._renew()
        with self._lock:
            running = self._running
            is_there = running is not None and running.chromium.is_connected() and self._of.get(page) is running
            return is_there and page.is_well

    def is_worn(self, page: BrowserPage) -> bool:
        """Return whether a page has reached its number of leases.

        Pages grow, so it is to be replaced.
        """
        return page.leases >= self.config.leases

    def give_back(self, page: BrowserPage, *, is_well: bool = True) -> None:
        """Keep a page for the next lease.

        A page that is broken or has reached its number of leases is closed.
        """
        self._take_back()
        running = self._of.get(page)
        if running is not None and not self._is_kept(page, running, is_well):  # else it was closed with its browser
            self._end(page)
            self._leave(running)

    def let_go(self, page: BrowserPage) -> None:
        """Return a page at the next call.

        Never blocks, so the garbage collector may call it at any time.
        """
        self._let_go.append(page)

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:  # Any: what coroutines send
        """Run a coroutine in the browser's own event loop.

        Raises:
            SandboxFailure: the page crashed, hangs, or is gone. It must not be reused.
        """
        if self._loop is None:
            work.close()
            raise SandboxFailure("The browser has ended, or the page belongs to the process that this one is a fork of")
        try:
            return self._loop.run(work, self.config.step_s if timeout_s is None else timeout_s)
        except TimeoutError:
            raise SandboxFailure("A page of the browser hangs") from None
        except PlaywrightError as error:
            raise SandboxFailure(f"A page of the browser failed: {error.message.splitlines()[0]:.300}") from error

    def close(self) -> None:
        """End the browser and its pages."""
        with self._lock:
            ends = {*self._of.values(), *([self._running] if self._running else [])}
            for page in self._of:
                self._end(page)
            for running in ends:
                self._end(running)
            if self._loop is not None:
                self._loop.close()
            self._loop = self._running = None
            self._idle, self._of = [], {}

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _take_back(self) -> None:
        while page := self._next_let_go():
            self.give_back(page)

    def _next_let_go(self) -> BrowserPage | None:
        with self._lock:
            return self._let_go.popleft() if self._let_go else None

    def _is_kept(self, page: BrowserPage, running: Launched, is_well: bool) -> bool:
        with self._lock:
            is_kept = running is self._running and is_well and not self.is_worn(page)
            if is_kept and len(self._idle) < self.config.keep:
                self._idle.append(page)
                running.num_leased -= 1
                return True
            del self._of[page]
            self.replaced += not is_well
            return False

    def _leave(self, running: Launched) -> None:
        """Count a closed page; close its browser after the last page if a new browser replaces it."""
        with self._lock:
            running.num_leased -= 1
            is_last = running is not self._running and running.num_leased == 0
        if is_last:
            self._end(running)

    def _renew(self) -> None:
        """Retire a browser that has crashed or exceeds its memory limit."""
        running, self._look_at = self._running, time.monotonic() + _LOOK_S
        if running is None or not self._is_spent(running):
            return
        with self._lock:
            if self._running is not running:  # another thread has replaced it
                return
            self.replaced += 1
            self._running, idle, self._idle = None, self._idle, []
            for page in idle:
                del self._of[page]
            is_unused = running.num_leased == 0
        for page in idle:
            self._end(page)
        if is_unused:
            self._end(running)

    def _is_spent(self, running: Launched) -> bool:
        if not running.chromium.is_connected():
            return True
        try:
            taken = self.run(running.memory_bytes(), _END_S)
        except SandboxFailure:  # no answer: its driver process may have died
            return True
        return taken > self.config.memory_bytes + running.num_leased * _PAGE_BYTES

    def _end(self, thing: BrowserPage | Launched) -> None:
        with contextlib.suppress(SandboxFailure):  # it hangs, or is gone
            self.run(thing.close(), _END_S)

    def _started(self) -> Launched:
        if self._running is None:
            self._loop = self._loop or EventLoopThread("cairn-browser")
            work = launched(self._path, has_sandbox=self.config.chromium_sandbox)
            self._running = self.run(work, _START_S)
        return self._running

    async def _new_page(self, running: Launched) -> BrowserPage:
        gate = Gate(keeps=self.config.caches)
        await gate.start()
        context = await self._context(running, gate)
        return BrowserPage(context, gate, lambda: self._context(running, gate), running.framing)

    async def new_context(self, gate: Gate) -> BrowserContext:
        """Return a context of a page's size that reaches only the gate's sites, with no tab open."""
        assert self._running is not None
        return await self._context(self._running, gate)

    async def _context(self, running: Launched, gate: Gate) -> BrowserContext:
        return await running.chromium.new_context(
            proxy={"server": gate.url, "bypass": "<-loopback>"},
            viewport={"width": self.config.width, "height": self.config.height},
            service_workers="block",
            accept_downloads=False,
            locale="en-US",
            timezone_id="UTC",
        )

    def memory_bytes(self) -> int:
        """Return the private memory of all processes of the browser."""
        return 0 if self._running is None else self.run(self._running.memory_bytes(), _END_S)
