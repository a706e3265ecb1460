"""A real browser for environments: one Chromium a process, and in it isolated pages that are kept warm.

A page reaches the sites that its lease names, which are applications of this process, and nothing else: no host, no
port of this machine, no file. What crashes or hangs fails its episode only, and is replaced; a browser that has grown
past its memory is replaced when its pages have come back.

Not kept from documents: faults of Chromium itself. Its own sandbox is on wherever this process is not root.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Browser as Chromium
from playwright.async_api import BrowserContext, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError
from pydantic import Field

from cairn.core.config import Config
from cairn.core.errors import SandboxFailure
from cairn.sandboxes._gate import Gate
from cairn.sandboxes._loop import Loop
from cairn.sandboxes.find_browser import find_browser
from cairn.sandboxes.page import Page

T = TypeVar("T")
# Chromium heeds the last list that it is given, so this one has Playwright's in it.
_FEATURES_OFF = (
    "AimEnabled",
    "AutofillServerCommunication",  # it would ask Google about every form
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DeferRendererTasksAfterInput",  # timers after a click would wait for a frame, and frames come when they like
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "RenderDocument",  # documents of one site share what draws them: they open sooner
    "SpareRendererForSitePerProcess",  # a process in wait beside each page
    "ThirdPartyStoragePartitioning",
    "Translate",
)
_ARGUMENTS = (
    "--enable-blink-features=ComputedAccessibilityInfo",  # roles and names, for scripts of ours
    f"--disable-features={','.join(_FEATURES_OFF)}",
    "--disable-site-isolation-trials",  # the sites of a page are one environment's: no new process for each
    "--renderer-process-limit=1",  # of a page
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--disable-smooth-scrolling",
)
# Else pictures of a page whose time stands still may never come; with it, all pages are drawn on and on, seen or not.
_FOR_PICTURES = "--run-all-compositor-stages-before-draw"
_START_S, _END_S = 60.0, 10.0


class BrowserConfig(Config):
    """Which browser, how large its pages are, and when it is replaced."""

    path: str | None = Field(None, description="Chromium or Chrome; None: Playwright's own, or one on the PATH.")
    width: int = Field(1024, ge=100, description="Of a page, in pixels.")
    height: int = Field(768, ge=100, description="Of a page, in pixels.")
    keep: int = Field(2, ge=0, description="Pages that wait warm for a lease; each costs some processor time.")
    caches: bool = Field(True, description="Whether pages keep from lease to lease what a site says never changes.")
    leases: int = Field(200, ge=1, description="After so many a page is replaced.")
    memory_bytes: int = Field(3 << 30, ge=1 << 28, description="Of all its processes; beyond, the browser is replaced.")
    step_s: float = Field(20.0, gt=0, description="Seconds after which a page hangs.")
    pictures: bool = Field(True, description="Whether pictures can be taken; every page costs processor time for it.")


class Browser:
    """One Chromium and its pages; any thread may lease one."""

    def __init__(self, config: BrowserConfig | None = None) -> None:
        """Start nothing yet."""
        self.config = config or BrowserConfig()
        self.replaced = 0  # pages and browsers that crashed, hung or grew too large
        self._path = find_browser(self.config.path)
        self._lock = threading.Lock()
        self._loop: Loop | None = None
        self._driver: Playwright | None = None
        self._chromium: Chromium | None = None
        self._idle: list[Page] = []
        self._num_leased = 0
        self._let_go = deque[Page]()  # and not taken back yet

    @contextlib.contextmanager
    def lease(self) -> Iterator[Page]:
        """Give a page that nobody else has; it comes back when the block ends."""
        page = self.take()
        try:
            yield page
        finally:
            self.give_back(page)

    def take(self) -> Page:
        """Return a page that nobody else has; `Page.begin` makes it new.

        Raises:
            SandboxFailure: the browser does not start.
        """
        self._take_back()
        with self._lock:
            self._start()
            page = self._idle.pop() if self._idle else None
            self._num_leased += 1
        try:
            return page or self.run(self._new_page(), _START_S)
        except SandboxFailure:
            with self._lock:
                self._num_leased -= 1
            raise

    def has(self, page: Page) -> bool:
        """Return whether a page is well, and of the browser that runs now."""
        self._take_back()
        with self._lock:
            chromium = self._chromium
            is_there = chromium is not None and chromium.is_connected() and page.context.browser is chromium
            return is_there and page.is_well

    def is_worn(self, page: Page) -> bool:
        """Return whether a page has had its leases: who has it takes another, as this one has grown."""
        return page.leases >= self.config.leases

    def give_back(self, page: Page, *, is_well: bool = True) -> None:
        """Keep a page for the next lease, or end it: one that is not well, or has had its leases."""
        self._take_back()
        if not self._is_kept(page, is_well):
            with contextlib.suppress(SandboxFailure):  # it hangs: the browser goes when its pages are back
                self.run(page.close(), _END_S)

    def let_go(self, page: Page) -> None:
        """Have a page given back at the next call; waits for nothing, so the garbage collector may call it anywhere."""
        self._let_go.append(page)

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:  # Any: what coroutines take
        """Carry out something with a page in the browser's own event loop.

        Raises:
            SandboxFailure: the page crashed, hangs, or is gone. It is not to be kept.
        """
        assert self._loop is not None
        try:
            return self._loop.run(work, self.config.step_s if timeout_s is None else timeout_s)
        except TimeoutError:
            raise SandboxFailure("A page of the browser hangs") from None
        except PlaywrightError as error:
            raise SandboxFailure(f"A page of the browser failed: {error.message.splitlines()[0]:.300}") from error

    def close(self) -> None:
        """End the browser and its pages."""
        with self._lock:
            self._stop()
            if self._loop is not None and self._driver is not None:
                self._loop.run(self._driver.stop(), _END_S)
                self._loop.close()
            self._loop = self._driver = None

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _take_back(self) -> None:
        while page := self._next_let_go():
            self.give_back(page)

    def _next_let_go(self) -> Page | None:
        with self._lock:
            return self._let_go.popleft() if self._let_go else None

    def _is_kept(self, page: Page, is_well: bool) -> bool:
        with self._lock:
            self._num_leased -= 1
            is_ours = self._chromium is not None and page.context.browser is self._chromium
            if is_ours and is_well and not self.is_worn(page) and len(self._idle) < self.config.keep:
                self._idle.append(page)
                return True
            self.replaced += not is_well
            return False

    # -- helpers, under the lock -------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._chromium is not None and (not self._chromium.is_connected() or self._has_grown()):
            self.replaced += 1
            self._stop()
        if self._chromium is None:
            self._loop = self._loop or Loop("cairn-browser")
            self._chromium = self.run(self._launched(), _START_S)

    def _has_grown(self) -> bool:
        return self._num_leased == 0 and self.memory_bytes() > self.config.memory_bytes

    def _stop(self) -> None:
        chromium, self._chromium = self._chromium, None
        idle, self._idle = self._idle, []
        if chromium is not None:
            for page in idle:
                with contextlib.suppress(SandboxFailure):  # it goes with its browser
                    self.run(page.close(), _END_S)
            with contextlib.suppress(SandboxFailure):  # it is gone
                self.run(chromium.close(), _END_S)

    async def _launched(self) -> Chromium:
        self._driver = self._driver or await async_playwright().start()
        return await self._driver.chromium.launch(
            executable_path=self._path,
            args=[*_ARGUMENTS, *([_FOR_PICTURES] if self.config.pictures else [])],
            chromium_sandbox=os.geteuid() != 0,
        )

    async def _new_page(self) -> Page:
        gate = Gate(keeps=self.config.caches)
        await gate.start()
        return Page(await self.new_context(gate), gate, lambda: self.new_context(gate))

    async def new_context(self, gate: Gate) -> BrowserContext:
        """Return a context of a page's size that reaches what the gate answers for, with nothing open."""
        assert self._chromium is not None
        return await self._chromium.new_context(
            proxy={"server": gate.url, "bypass": "<-loopback>"},
            viewport={"width": self.config.width, "height": self.config.height},
            service_workers="block",
            accept_downloads=False,
            locale="en-US",
            timezone_id="UTC",
        )

    def memory_bytes(self) -> int:
        """Return the memory of all its processes: what each has for itself."""
        if self._chromium is None:
            return 0
        return sum(map(_own_bytes, self.run(self._processes(), _END_S)))

    async def _processes(self) -> list[int]:
        assert self._chromium is not None
        session = await self._chromium.new_browser_cdp_session()
        found = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
        await session.detach()
        return [int(process["id"]) for process in found]


def _own_bytes(pid: int) -> int:
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:  # it has ended
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
