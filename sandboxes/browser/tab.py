"""One tab of a leased page, whose time advances only during steps.

A step ends when the tab is idle.

Time is Chromium's virtual time. Clocks, timers and intervals of a document advance exactly by the argument of
`advance`, and pause while a network request is pending, navigations included. So a step ends when everything that it
started has ended, without sleeping. The clock of every document starts at the same moment. Scripts get their frames by
timers, the same number each time.

Not controlled: the clocks of workers, which show the machine's date. Chromium's `initialVirtualTime` would set them
too, but environments have been observed to start at half the speed with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import CDPSession, Dialog, Download
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page as Driven

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.browser.frames import FRAME, Frames
from cairn.sandboxes.browser.loop import begun
from cairn.sandboxes.browser.script_world import WORLD, ScriptWorld

STEP_MS = 100  # of virtual time
_LAST_MS = 1  # of these, after the layout
NOWHERE = (-1, -1)  # start of the mouse: elsewhere, the element under it would look different
BEGINNING_MS = 1_900_000_000_000  # start time of documents' clocks: milliseconds since 1970
_HELD = {"none": 0, "left": 1, "right": 2, "middle": 4}  # values of Chromium's protocol
_CLIPBOARD, _SETTLE = "clipboard.js", "settle.js"
_EMPTY = "about:blank"
CLOSED = "A tab of the browser is closed"
_SWAP_S, _STUCK_S, _SOON_S = 0.005, 2.0, 0.5
_DUE = f"new Promise(resolve => setTimeout(resolve, {_LAST_MS}))"
_MOST_DIALOGS = 20  # per step; a document that opens more is closed
_MOST_LOADS = 10  # page loads per step that are waited for; a document may navigate endlessly
_WHEN_LOADED = """
(run => document.readyState === "complete" ? run() : addEventListener("load", run))(() => setTimeout(() => {SCRIPT}))
"""
_MOST_COPIED = 100_000


@cache
def _text_of(name: str) -> str:
    return Path(__file__).with_name(name).read_text()


@dataclass
class Clipboard:
    """The text copied last in any tab of a page."""

    text: str = ""


class Tab:
    """The current document of a tab, and operations on it."""

    def __init__(
        self,
        driven: Driven,
        cdp: CDPSession,
        clipboard: Clipboard,
        notice: Callable[[str], None],
        is_asking: Callable[[], bool],
        framing: asyncio.Lock,
    ) -> None:
        """Set up without a document.

        Args:
            driven: Playwright's object of the tab.
            cdp: the connection to Chromium.
            clipboard: the clipboard of the page.
            notice: called with each refused request and each dialog of the document.
            is_asking: whether sites have pending requests.
            framing: see `Frames`.
        """
        self.driven, self._cdp, self._notice, self._is_asking = driven, cdp, notice, is_asking
        self._clipboard = clipboard
        self._mouse: tuple[float, float] = NOWHERE
        self._num_dialogs = 0
        self._script: str | None = None  # id of the script that runs first in each document
        self._frame = ""  # Chromium's id of the frame of the document
        self._rested = asyncio.Event()
        self._news = asyncio.Event()  # another document is shown, or none is left
        self._document = ""  # Chromium's id of the current document
        self._is_loading = False
        self._leaves = asyncio.Event()  # in this step the document has requested a navigation
        self._num_asked = 0  # number of requested navigations, in total
        self._world = ScriptWorld(self.send)
        self._frames = Frames(cdp, framing, lambda: self._world.wait(self._frame, FRAME), self._is_late)
        self._end = asyncio.get_running_loop().create_future()  # why no document is left

    async def prepare(self, seed: int) -> None:
        """Subscribe to events, and set up virtual time and the initial scripts."""
        self._cdp.on("Emulation.virtualTimeBudgetExpired", lambda _: self._rested.set())
        self._cdp.on("Page.frameNavigated", self._has_navigated)
        self._cdp.on("Page.frameRequestedNavigation", self._asks_to_leave)
        self._cdp.on("Page.frameStartedLoading", lambda event: self._loads(event, is_loading=True))
        self._cdp.on("Page.frameStoppedLoading", lambda event: self._loads(event, is_loading=False))
        self.driven.on("dialog", self._dialog)
        self.driven.on("download", self._download)
        self.driven.on("crash", lambda _: self.end("A page of the browser crashed"))
        await asyncio.gather(
            self.send("Page.enable"),
            self.send("Accessibility.enable"),  # roles and names stay cached
            self.send("Page.addScriptToEvaluateOnNewDocument", source=_text_of(_CLIPBOARD), worldName=WORLD),
        )
        self._frame = (await self.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        await asyncio.gather(self.send("Emulation.setVirtualTimePolicy", policy="pause"), self._rule(seed))

    async def begin(self, seed: int, *, is_elsewhere: bool) -> None:
        """Show an empty document without history and name, stop its clock, and seed random numbers.

        `is_elsewhere`: the next document may have another site than the last one. A document that is left in this case
        with pending work and no time for it stays in Chromium's memory for good; so the last document and the empty one
        get a short time.
        """
        self._num_dialogs = 0
        given = [self._pass(_LAST_MS, "advance")] if is_elsewhere else []
        await asyncio.gather(self._rule(seed), *given)
        empty = await self.send("Page.navigate", url=_EMPTY)
        await self._until(lambda: self._document == empty["loaderId"])
        given = [self._pass(_LAST_MS)] if is_elsewhere else []
        await asyncio.gather(self.forget(_EMPTY), self.send("Runtime.evaluate", expression="name = ''"), *given)

    async def _rule(self, seed: int) -> None:
        """Set the start time and the random seed of the next documents."""
        script = _text_of("clocks.js").replace("BEGINNING", str(BEGINNING_MS)) + _text_of("motion.js")
        script += _text_of("document.js").replace("SEED", str(seed))
        last = () if self._script is None else (self._remove(self._script),)
        added, *_ = await asyncio.gather(self.send("Page.addScriptToEvaluateOnNewDocument", source=script), *last)
        self._script = added["identifier"]

    def _remove(self, script: str) -> Coroutine[Any, Any, dict[str, Any]]:  # Any: of Chromium's protocol
        return self.send("Page.removeScriptToEvaluateOnNewDocument", identifier=script)

    async def send(self, method: str, **params: Any) -> dict[str, Any]:  # Any: of Chromium's protocol
        """Call a method of Chromium.

        Raises:
            SandboxFailure: no document is left.
            PlaywrightError: Chromium refused.
        """
        answer = begun(self._cdp.send(method, params))
        await asyncio.wait((answer, self._end), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            raise SandboxFailure(self._end.result())
        found: dict[str, Any] = answer.result()
        return found

    async def call(self, script: str, expression: str) -> Any:  # Any: JSON
        """Run a script in our isolated world, and return the value of an expression.

        Raises:
            SandboxFailure: it raised, or no document is left.
            PlaywrightError: Chromium refused.
        """
        return await self._world.call(self._frame, script, expression)

    async def advance(self, milliseconds: int = STEP_MS) -> None:
        """Advance the document's time after its pending requests; do nothing if it closes itself.

        Raises:
            SandboxFailure: it crashed.
        """
        self._num_dialogs = 0
        self._leaves.clear()
        try:
            if await self._rest(milliseconds):
                await self.call(_text_of(_CLIPBOARD), f"cairnClipboard.paste({json.dumps(self._clipboard.text)})")
                await self._rest(milliseconds)
        except (PlaywrightError, SandboxFailure):
            if not self.is_closed:
                raise
        if self._end.done() and not self.is_closed:
            raise SandboxFailure(self._end.result())

    async def _rest(self, milliseconds: int) -> bool:
        """Advance the time, and continue while another document loads.

        Returns whether to paste something.
        """
        for _ in range(_MOST_LOADS):
            await self._pass(milliseconds - _LAST_MS)
            for _ in range(_MOST_LOADS):
                if not self._is_loading:
                    break
                await self._pass(milliseconds)  # Chromium may miss that a document is loading
            num_asked = self._num_asked
            wants = await self._last()
            if self._num_asked == num_asked:
                break
        return wants

    async def _last(self) -> bool:
        """Lay out, which requests visible pictures, and pass the last moment of a step for them.

        Stores copied text; returns whether something is to be pasted.
        """
        await self.call(_text_of(_SETTLE), "cairnSettle()")
        if self._mouse != NOWHERE:
            await self.move(*self._mouse)  # the element under it would otherwise learn of it at an arbitrary frame
        await self.frame()
        news = self.call(_text_of(_CLIPBOARD), "cairnClipboard.news()")
        # Sent first, because it is due at the same moment. Nothing waits for it if another document is shown.
        due = begun(self._world.wait(self._frame, _DUE))
        _, (copied, wants), _ = await asyncio.gather(self._world.know(), news, self._pass(_LAST_MS))
        await asyncio.wait(
            [due], timeout=_SOON_S
        )  # Chromium reports the end of time before it runs the timers due then
        if copied is not None:
            self._clipboard.text = copied[:_MOST_COPIED]
        return bool(wants)

    async def _pass(self, milliseconds: int, policy: str = "pauseIfNetworkFetchesPending") -> None:
        self._rested.clear()
        await self.send("Emulation.setVirtualTimePolicy", policy=policy, budget=milliseconds)
        while not await self._has_rested():
            if await self._is_stuck():
                await self.send("Emulation.setVirtualTimePolicy", policy="advance", budget=milliseconds)

    async def _has_rested(self) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._rested.wait(), _STUCK_S)
        return self._rested.is_set()

    async def _is_stuck(self) -> bool:
        """Return whether time is stopped only because Chromium missed the response to a request."""
        if self._is_asking():
            return False
        clock = await self.call("", "Date.now()")
        return not await self._has_rested() and not self._is_asking() and await self.call("", "Date.now()") == clock

    async def mouse(
        self, kind: str, x: float, y: float, button: str = "none", held: str = "none", count: int = 0
    ) -> None:
        """Send a mouse event; `kind` and `button` as in Chromium's protocol, `held`: a button."""
        self._mouse = x, y
        buttons = _HELD[held]
        sent = {"x": x, "y": y, "button": button, "buttons": buttons, "clickCount": count}
        await self.send("Input.dispatchMouseEvent", type=kind, **sent)

    async def move(self, x: float, y: float, held: str = "none") -> None:
        """Move the mouse.

        Documents process moves with a frame or with the next event: here a release of no button, which they do not see.
        """
        await asyncio.gather(
            self.mouse("mouseMoved", x, y, held, held),
            self.mouse("mouseReleased", x, y, held=held),
        )

    async def frame(self) -> None:
        """Make a frame now: documents learn of scrolling, resizing and visibility only in a frame.

        If the document has requested a navigation, no frame is made before time passes, and none is waited for.
        """
        made = self._frames.make()
        leaves = asyncio.ensure_future(self._leaves.wait())
        await asyncio.wait((made, leaves, self._end), return_when=asyncio.FIRST_COMPLETED)
        leaves.cancel()

    async def picture(self) -> bytes:
        """Return a screenshot of the window, as PNG.

        Raises:
            SandboxFailure: no document is left, or it has no picture.
        """
        made = self._frames.picture()
        await asyncio.wait((made, self._end), return_when=asyncio.FIRST_COMPLETED)
        if self._end.done():
            raise SandboxFailure(self._end.result())
        return made.result()

    async def _is_late(self) -> None:
        """End the tab if its scripts hang, when a frame is late.

        A document that is about to navigate and still answers does not hang.
        """
        answer = begun(self.send("Runtime.evaluate", expression="0"))
        await asyncio.wait([answer], timeout=_STUCK_S)
        if not (answer.done() and (self._is_loading or self._leaves.is_set())):
            self.end("A page of the browser hangs in a frame")

    async def go(self, url: str, script: str = "") -> str | None:
        """Navigate to a URL and let the document load; return why it could not be reached, or None.

        `script`: run in the document's own script world after it has loaded.
        """
        answer = await self.send("Page.navigate", url=url)
        if "errorText" in answer:
            return str(answer["errorText"])
        if script:
            await self._until(lambda: self._document == answer["loaderId"])
            await self.send("Runtime.evaluate", expression=_WHEN_LOADED.replace("SCRIPT", script))
        await self.advance()
        return None

    async def history(self) -> tuple[int, list[str]]:
        """Return the index of the current history entry, and the URLs of all entries."""
        found = await self.send("Page.getNavigationHistory")
        return found["currentIndex"], [entry["url"] for entry in found["entries"]]

    async def forget(self, shown: str | None = None) -> None:
        """Clear the history.

        `shown`: the URL that must remain, once the browser knows that it is shown.
        """
        while True:
            try:
                _, (_, left) = await asyncio.gather(self.send("Page.resetNavigationHistory"), self.history())
                if shown is None or left == [shown]:
                    return
            except PlaywrightError as error:
                if "active page" not in error.message:
                    raise
            await asyncio.sleep(_SWAP_S)  # another process of the browser is about to show the document

    async def _dialog(self, dialog: Dialog) -> None:
        """Accept alerts and confirmations of leaving.

        Dismiss questions, which cannot be answered in time.
        """
        self._num_dialogs += 1
        self._notice(f"{dialog.type}: {dialog.message[:200]}")
        try:
            if self._num_dialogs > _MOST_DIALOGS:
                self._notice("closed: it opened dialogs without an end")
                await self.driven.close()
            elif dialog.type in ("alert", "beforeunload"):
                await dialog.accept()
            else:
                await dialog.dismiss()
        except PlaywrightError:  # the document is gone, with its dialog
            pass

    def _has_navigated(self, event: dict[str, Any]) -> None:  # Any: of Chromium's protocol
        if event["frame"]["id"] != self._frame:
            self._world.met(event["frame"]["id"])
        else:
            self._document = event["frame"]["loaderId"]
            self._world.end()
            if event["frame"]["url"] != _EMPTY:
                self._world.begin(self._frame)
            self._news.set()

    def _asks_to_leave(self, event: dict[str, Any]) -> None:  # Any: of Chromium's protocol
        if event["frameId"] == self._frame:
            self._num_asked += 1
            self._leaves.set()

    def _loads(self, event: dict[str, Any], *, is_loading: bool) -> None:  # Any: of Chromium's protocol
        if event["frameId"] == self._frame:
            self._is_loading = is_loading

    async def _until(self, is_so: Callable[[], bool]) -> None:
        """Wait until a new document makes the condition true.

        Raises:
            SandboxFailure: no document is left.
        """
        while not is_so():
            if self._end.done():
                raise SandboxFailure(self._end.result())
            self._news.clear()
            await self._news.wait()

    def _download(self, download: Download) -> None:
        self._notice(f"refused: a download of {download.url[:200]}")

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed, by us or by itself."""
        return self._end.done() and self._end.result() == CLOSED

    @property
    def has_crashed(self) -> bool:
        """Whether it has ended without having been closed."""
        return self._end.done() and not self.is_closed

    def end(self, why: str) -> None:
        """Mark the tab as ended, and wake all waiters."""
        if not self._end.done():
            self._end.set_result(why)
        self._rested.set()
        self._news.set()
