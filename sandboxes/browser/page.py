"""A page: one isolated browser context with its tabs, leased to one episode after another.

Between two leases cookies, storage, cached responses, history and the window's name are cleared, and clocks and random
numbers are reset; a document can leave nothing else behind. Refused requests of documents (downloads, more tabs,
addresses that are not a site) are recorded as notices.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page as Driven

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.browser.gate import Gate, Site
from cairn.sandboxes.browser.tab import CLOSED, NOWHERE, STEP_MS, Clipboard, Tab

MOST_TABS = 8
_TOO_MANY = f"a further tab; there may be {MOST_TABS}"
_MOST_NOTICES, _MOST_ROUNDS = 100, 3
_MOST_WAIT_S, _WAIT_S = 2.0, 0.005


class BrowserPage:
    """Tabs that share nothing with other pages; used only in the browser's event loop."""

    def __init__(
        self,
        context: BrowserContext,
        gate: Gate,
        another: Callable[[], Awaitable[BrowserContext]],
        framing: asyncio.Lock,
    ) -> None:
        """Set up the page without tabs.

        Args:
            context: the browser context.
            gate: the proxy of the context.
            another: returns a context with an empty cache.
            framing: see `Tab`.
        """
        self.gate, self._another, self._framing = gate, another, framing
        self.tabs: list[Tab] = []
        self.active = 0  # index of the tab in front
        self.notices: list[str] = []  # of this lease, the first ones
        self.clipboard = Clipboard()
        self.leases = 0
        self._seed = 0
        self._is_ours = False  # whether our own code opens the next tab
        self._shown = set[str]()  # hosts of documents; cached documents do not request them
        self._coming = list[Driven]()  # tabs that documents have opened
        self._asked = deque[bool]()  # requested tabs that Playwright has not reported yet: whether by a click
        self._closing = set[asyncio.Task[None]]()
        self._use(context)

    @property
    def tab(self) -> Tab:
        """The tab in front.

        Raises:
            SandboxFailure: the page has no tab.
        """
        if not self.tabs:
            raise SandboxFailure("A page of the browser has no tab")
        return self.tabs[min(self.active, len(self.tabs) - 1)]

    @property
    def is_well(self) -> bool:
        """Whether no tab has crashed."""
        return not any(tab.has_crashed for tab in self.tabs)

    async def begin(self, sites: Mapping[str, Site], url: str, seed: int, script: str = "") -> str | None:
        """Show `url` in a clean state; return why it could not be reached, or None.

        `script`: run in the document's own script world after it has loaded.
        """
        self.leases += 1
        self._seed, self.clipboard.text = seed & 0x7FFFFFFF, ""
        self.gate.begin({})
        if not self.gate.kept <= set(sites):
            await self._leave()
        for tab in self.tabs[1:]:
            await self._close(tab)
        if not self.tabs:
            await self._new_tab()
        self.active = 0
        await self.tab.begin(self._seed, is_elsewhere=not self._left() <= {urlsplit(url).hostname})
        await self._refuse_late()
        self.notices = []
        await asyncio.gather(self.tab.move(*NOWHERE), self.context.clear_cookies(), *self._forget())
        self.gate.begin(sites)
        # Chromium itself moves the mouse to (0, 0) where a new site gets a new view, and does not where it reuses one.
        await self.tab.send("Input.setIgnoreInputEvents", ignore=True)
        problem = await self.tab.go(url, script)
        if self.tabs:
            await self.tab.send("Input.setIgnoreInputEvents", ignore=False)
        if not self.tabs:
            await self._new_tab()
            return "its tab had to be closed"
        await self.tab.forget()
        return problem

    def _forget(self) -> list[Coroutine[Any, Any, Any]]:  # Any: of Chromium's protocol
        """Return calls that clear all data of earlier documents, except immutable responses."""
        work = [self._clear(host) for host in self._left()]
        self._shown, self.gate.visited = set(), set()
        return work

    def _left(self) -> set[str]:
        """Return the hosts whose documents may have left data."""
        return self._shown | self.gate.visited

    async def _refuse_late(self) -> None:
        """Close tabs that documents opened and no step has adopted.

        They belong to the last lease.
        """
        await self._wait_for_requested_tabs()
        self._refuse(self._coming, "a tab of the last lease")
        self._coming = []
        if self._closing:
            await asyncio.wait(self._closing)

    async def settle(self, milliseconds: int = STEP_MS) -> None:
        """Advance the time in every tab, then adopt or drop tabs that documents opened or closed."""
        for tab in list(self.tabs):
            await tab.advance(milliseconds)
        for _ in range(_MOST_ROUNDS):
            await self._wait_for_requested_tabs()
            await self._take_in()
        self._refuse(self._coming, _TOO_MANY)
        self._coming = []
        if not self.tabs:
            self.notice("closed: the last tab; an empty one is in its place")
            await self._new_tab()
        self.active = min(self.active, len(self.tabs) - 1)

    async def open_tab(self) -> bool:
        """Open an empty tab in front; return False if the limit is reached."""
        if len(self.tabs) >= MOST_TABS:
            return False
        await self._new_tab()
        self.active = len(self.tabs) - 1
        return True

    async def close_tab(self, index: int) -> None:
        """Close a tab; `settle` replaces the last tab by an empty one."""
        await self._close(self.tabs[index])

    def notice(self, text: str) -> None:
        """Record a notice for the environment."""
        if len(self.notices) < _MOST_NOTICES:
            self.notices.append(text)

    async def close(self) -> None:
        """Close the page."""
        with contextlib.suppress(PlaywrightError):  # the browser is gone
            await self.context.close()
        await self.gate.stop()

    def _use(self, context: BrowserContext) -> None:
        self.context = context
        context.on("page", self._opened)

    async def _leave(self) -> None:
        """Continue in a new context.

        This one would show cached content of sites that are no longer registered.

        Clearing the cache has been observed to leave content behind.
        """
        last, self.gate.kept = self.context, set()
        for tab in list(self.tabs):
            self._gone(tab)
        await last.close()
        self._use(await self._another())

    def _clear(self, host: str) -> Coroutine[Any, Any, Any]:  # Any: of Chromium's protocol
        return self.tab.send("Storage.clearDataForOrigin", origin=f"http://{host}", storageTypes="all")

    def _opened(self, driven: Driven) -> None:
        if self._is_ours:
            return
        self._shown |= set(self.gate.sites)  # possibly any of them, before we listen
        if self._asked and not self._asked.popleft():
            self._refuse([driven], "a tab without a click")
        else:
            self._coming.append(driven)

    async def _wait_for_requested_tabs(self) -> None:
        """Wait for requested tabs that Playwright has not reported yet.

        The wait is limited, because some browsers refuse some tabs by themselves.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_MOST_WAIT_S):
                while self._asked:
                    await asyncio.sleep(_WAIT_S)
        self._asked.clear()

    async def _new_tab(self) -> None:
        self._is_ours = True
        try:
            await self._add(await self.context.new_page())
        finally:
            self._is_ours = False

    async def _take_in(self) -> None:
        """Show the tabs that documents have opened, up to the limit."""
        coming, self._coming = self._coming, []
        room = MOST_TABS - len(self.tabs)
        self._refuse(coming[room:], _TOO_MANY)
        for driven in coming[:room]:
            with contextlib.suppress(PlaywrightError):  # it was closed again immediately
                await self._add(driven)
                self.active = len(self.tabs) - 1
                await self.tabs[-1].advance()

    def _refuse(self, coming: list[Driven], what: str) -> None:
        for driven in coming:
            self.notice(f"refused: {what}")
            task = asyncio.ensure_future(driven.close())
            self._closing.add(task)
            task.add_done_callback(self._closed)

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        if not task.cancelled():
            task.exception()  # retrieves the exception of a tab that was gone already

    async def _add(self, driven: Driven) -> None:
        session = await self.context.new_cdp_session(driven)
        session.on("Page.windowOpen", lambda event: self._asked.append(event["userGesture"]))
        session.on("Page.frameNavigated", lambda event: self._shows(event["frame"]["url"]))
        tab = Tab(driven, session, self.clipboard, self.notice, lambda: self.gate.num_open > 0, self._framing)
        self.tabs.append(tab)
        driven.on("close", lambda _: self._gone(tab))
        await tab.prepare(self._seed)

    def _shows(self, url: str) -> None:
        if host := urlsplit(url).hostname:
            self._shown.add(host)

    async def _close(self, tab: Tab) -> None:
        self._gone(tab)
        with contextlib.suppress(PlaywrightError):  # it is gone
            await tab.driven.close()

    def _gone(self, tab: Tab) -> None:
        if tab in self.tabs:
            at = self.tabs.index(tab)
            self.tabs.remove(tab)
            self.active -= at < self.active
        tab.end(CLOSED)
