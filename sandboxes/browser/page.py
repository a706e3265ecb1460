"""A page: one isolated context of a browser with its tabs, leased to one episode after another.

Between two leases cookies, storage, cached answers, history and the window's name go, and time and chance begin anew;
more than that a document cannot leave behind. What documents want and do not get (downloads, further tabs, addresses
that are no site) is refused and noted.
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
    """Tabs that share nothing with those of other pages; used in the browser's event loop only."""

    def __init__(
        self,
        context: BrowserContext,
        gate: Gate,
        another: Callable[[], Awaitable[BrowserContext]],
        framing: asyncio.Lock,
    ) -> None:
        """Show nothing yet; `another`: gives a context that has kept nothing; `framing`: see `Tab`."""
        self.gate, self._another, self._framing = gate, another, framing
        self.tabs: list[Tab] = []
        self.active = 0  # which tab is in front
        self.notices: list[str] = []  # in this lease, the first ones
        self.clipboard = Clipboard()
        self.leases = 0
        self._seed = 0
        self._is_ours = False  # the tab that opens next
        self._shown = set[str]()  # hosts of documents; from the cache, they were not asked
        self._coming = list[Driven]()  # tabs that documents have opened
        self._asked = deque[bool]()  # tabs that documents want and Playwright has not told of: whether by a click
        self._closing = set[asyncio.Task[None]]()
        self._use(context)

    @property
    def tab(self) -> Tab:
        """The tab in front.

        Raises:
            SandboxFailure: there is none.
        """
        if not self.tabs:
            raise SandboxFailure("A page of the browser has no tab")
        return self.tabs[min(self.active, len(self.tabs) - 1)]

    @property
    def is_well(self) -> bool:
        """Whether none of its tabs has crashed."""
        return not any(tab.has_crashed for tab in self.tabs)

    async def begin(self, sites: Mapping[str, Site], url: str, seed: int, script: str = "") -> str | None:
        """Show `url` as nobody has before; return why it could not be reached, or None.

        `script`: run among the document's own, once it has loaded.
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
        problem = await self.tab.go(url, script)
        if not self.tabs:
            await self._new_tab()
            return "its tab had to be closed"
        await self.tab.forget()
        return problem

    def _forget(self) -> list[Coroutine[Any, Any, Any]]:  # Any: of Chromium's protocol
        """Return what leaves nothing of the documents that were shown, but what never changes."""
        work = [self._clear(host) for host in self._left()]
        self._shown, self.gate.visited = set(), set()
        return work

    def _left(self) -> set[str]:
        """Return the hosts whose documents may have left something."""
        return self._shown | self.gate.visited

    async def _refuse_late(self) -> None:
        """Close the tabs that documents have opened and no step has taken in: they are of the last lease."""
        await self._all_told()
        self._refuse(self._coming, "a tab of the last lease")
        self._coming = []
        if self._closing:
            await asyncio.wait(self._closing)

    async def settle(self, milliseconds: int = STEP_MS) -> None:
        """Let so much time pass in every tab, and take in those that it opened or closed."""
        for tab in list(self.tabs):
            await tab.advance(milliseconds)
        for _ in range(_MOST_ROUNDS):
            await self._all_told()
            await self._take_in()
        self._refuse(self._coming, _TOO_MANY)
        self._coming = []
        if not self.tabs:
            self.notice("closed: the last tab; an empty one is in its place")
            await self._new_tab()
        self.active = min(self.active, len(self.tabs) - 1)

    async def open_tab(self) -> bool:
        """Show an empty tab in front; return whether there was room for it."""
        if len(self.tabs) >= MOST_TABS:
            return False
        await self._new_tab()
        self.active = len(self.tabs) - 1
        return True

    async def close_tab(self, index: int) -> None:
        """Close a tab; `settle` puts an empty one in the place of the last."""
        await self._close(self.tabs[index])

    def notice(self, text: str) -> None:
        """Keep a note for whoever looks."""
        if len(self.notices) < _MOST_NOTICES:
            self.notices.append(text)

    async def close(self) -> None:
        """End it."""
        with contextlib.suppress(PlaywrightError):  # the browser is gone
            await self.context.close()
        await self.gate.stop()

    def _use(self, context: BrowserContext) -> None:
        self.context = context
        context.on("page", self._opened)

    async def _leave(self) -> None:
        """Go on in another context: this one would show what it has kept of sites that are no longer there.

        Emptying its cache has been seen to leave something there.
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
        self._shown |= set(self.gate.sites)  # any of them, before we listen
        if self._asked and not self._asked.popleft():
            self._refuse([driven], "a tab without a click")
        else:
            self._coming.append(driven)

    async def _all_told(self) -> None:
        """Wait for tabs that are about to be told of; not for ever, as some browsers refuse some by themselves."""
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
        """Show the tabs that documents have opened, as far as there is room."""
        coming, self._coming = self._coming, []
        room = MOST_TABS - len(self.tabs)
        self._refuse(coming[room:], _TOO_MANY)
        for driven in coming[:room]:
            with contextlib.suppress(PlaywrightError):  # it was closed again at once
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
            task.exception()  # of one that was gone already

    async def _add(self, driven: Driven) -> None:
        session = await self.context.new_cdp_session(driven)
        session.on("Page.windowOpen", lambda told: self._asked.append(told["userGesture"]))
        session.on("Page.frameNavigated", lambda told: self._shows(told["frame"]["url"]))
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
