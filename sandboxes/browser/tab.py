"""One tab of a leased page: time stands still in it but for what each step gives, and a step ends when it is at rest.

Time is Chromium's virtual time. Clocks, timers and intervals of a document go on by exactly what `advance` says, and
wait while anything is asked of the network, navigations included; so a step is over when all that it began is, without
sleeping. Every document's clock begins at the same moment. Scripts get their frames by timers, as many each time.

Not ours: the clocks of workers, which tell the machine's date. Chromium's `initialVirtualTime` would set them too, but
environments have been seen to take twice as long to begin with it.
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
_LAST_MS = 1  # of these, after what is shown has been laid out
NOWHERE = (-1, -1)  # where the mouse begins: what lies under it would look otherwise
BEGINNING_MS = 1_900_000_000_000  # what clocks say when a document begins: since 1970
_HELD = {"none": 0, "left": 1, "right": 2, "middle": 4}  # as Chromium's protocol has it
_CLIPBOARD, _SETTLE = "clipboard.js", "settle.js"
_EMPTY = "about:blank"
CLOSED = "A tab of the browser is closed"
_SWAP_S, _STUCK_S, _SOON_S = 0.005, 2.0, 0.5
_DUE = f"new Promise(resolve => setTimeout(resolve, {_LAST_MS}))"
_MOST_DIALOGS = 20  # of a step; a document that asks for more is closed
_MOST_LOADS = 10  # of a step that are waited for; a document may go elsewhere without an end
_WHEN_LOADED = """
(run => document.readyState === "complete" ? run() : addEventListener("load", run))(() => setTimeout(() => {SCRIPT}))
"""
_MOST_COPIED = 100_000


@cache
def _text_of(name: str) -> str:
    return Path(__file__).with_name(name).read_text()


@dataclass
class Clipboard:
    """What was copied last in any tab of a page."""

    text: str = ""


class Tab:
    """A document that is shown, and what Chromium can be asked to do with it."""

    def __init__(
        self,
        driven: Driven,
        cdp: CDPSession,
        clipboard: Clipboard,
        notice: Callable[[str], None],
        is_asking: Callable[[], bool],
        framing: asyncio.Lock,
    ) -> None:
        """Show nothing yet.

        Args:
            driven: the tab, as Playwright has it.
            cdp: what Chromium is asked by.
            clipboard: of the page that it is a tab of.
            notice: told of what the document wanted and did not get, or was answered at once.
            is_asking: whether sites have requests to answer.
            framing: see `Frames`.
        """
        self.driven, self._cdp, self._notice, self._is_asking = driven, cdp, notice, is_asking
        self._clipboard = clipboard
        self._mouse: tuple[float, float] = NOWHERE
        self._num_dialogs = 0
        self._script: str | None = None  # what runs first in each document
        self._frame = ""  # Chromium's name of what shows the document
        self._rested = asyncio.Event()
        self._news = asyncio.Event()  # another document is shown, or there is none any more
        self._document = ""  # Chromium's name of the one that is shown
        self._is_loading = False
        self._leaves = asyncio.Event()  # in this step the document has asked to go elsewhere
        self._num_asked = 0  # how often it has, ever
        self._world = ScriptWorld(self.send)
        self._frames = Frames(cdp, framing, lambda: self._world.wait(self._frame, FRAME), self._is_late)
        self._end = asyncio.get_running_loop().create_future()  # why there is no document any more

    async def prepare(self, seed: int) -> None:
        """Listen to the document, and begin."""
        self._cdp.on("Emulation.virtualTimeBudgetExpired", lambda _: self._rested.set())
        self._cdp.on("Page.frameNavigated", self._has_navigated)
        self._cdp.on("Page.frameRequestedNavigation", self._asks_to_leave)
        self._cdp.on("Page.frameStartedLoading", lambda told: self._loads(told, is_loading=True))
        self._cdp.on("Page.frameStoppedLoading", lambda told: self._loads(told, is_loading=False))
        self.driven.on("dialog", self._dialog)
        self.driven.on("download", self._download)
        self.driven.on("crash", lambda _: self.end("A page of the browser crashed"))
        await asyncio.gather(
            self.send("Page.enable"),
            self.send("Accessibility.enable"),  # roles and names stay known
            self.send("Page.addScriptToEvaluateOnNewDocument", source=_text_of(_CLIPBOARD), worldName=WORLD),
        )
        self._frame = (await self.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        await asyncio.gather(self.send("Emulation.setVirtualTimePolicy", policy="pause"), self._rule(seed))

    async def begin(self, seed: int, *, is_elsewhere: bool) -> None:
        """Show an empty document, no history and no name; clocks stand still, chance from now on follows from the seed.

        `is_elsewhere`: the next document may have another site than the last. One that is left then, with something to
        do and no time for it, stays in Chromium's memory for good; so the last one and the empty one get a moment.
        """
        self._num_dialogs = 0
        given = [self._pass(_LAST_MS, "advance")] if is_elsewhere else []
        await asyncio.gather(self._rule(seed), *given)
        empty = await self.send("Page.navigate", url=_EMPTY)
        await self._until(lambda: self._document == empty["loaderId"])
        given = [self._pass(_LAST_MS)] if is_elsewhere else []
        await asyncio.gather(self.forget(_EMPTY), self.send("Runtime.evaluate", expression="name = ''"), *given)

    async def _rule(self, seed: int) -> None:
        """Have the next documents begin at the same moment, and their chance follow from the seed."""
        script = _text_of("clocks.js").replace("BEGINNING", str(BEGINNING_MS)) + _text_of("motion.js")
        script += _text_of("document.js").replace("SEED", str(seed))
        last = () if self._script is None else (self._remove(self._script),)
        added, *_ = await asyncio.gather(self.send("Page.addScriptToEvaluateOnNewDocument", source=script), *last)
        self._script = added["identifier"]

    def _remove(self, script: str) -> Coroutine[Any, Any, dict[str, Any]]:  # Any: of Chromium's protocol
        return self.send("Page.removeScriptToEvaluateOnNewDocument", identifier=script)

    async def send(self, method: str, **params: Any) -> dict[str, Any]:  # Any: of Chromium's protocol
        """Have Chromium do something.

        Raises:
            SandboxFailure: there is no document any more.
            PlaywrightError: it cannot be done.
        """
        answer = begun(self._cdp.send(method, params))
        await asyncio.wait((answer, self._end), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            raise SandboxFailure(self._end.result())
        found: dict[str, Any] = answer.result()
        return found

    async def call(self, script: str, expression: str) -> Any:  # Any: JSON
        """Return the value of an expression after a script, in a world of its own that the document does not see.

        Raises:
            SandboxFailure: it raised, or there is no document any more.
            PlaywrightError: it cannot be done.
        """
        return await self._world.call(self._frame, script, expression)

    async def advance(self, milliseconds: int = STEP_MS) -> None:
        """Let so much time pass in the document, after whatever it is waiting for; nothing, if it closes itself.

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
        """Let so much time pass, and more while another document is on its way; return whether to paste something."""
        for _ in range(_MOST_LOADS):
            await self._pass(milliseconds - _LAST_MS)
            for _ in range(_MOST_LOADS):
                if not self._is_loading:
                    break
                await self._pass(milliseconds)  # Chromium may miss that a document is on its way
            num_asked = self._num_asked
            wants = await self._last()
            if self._num_asked == num_asked:
                break
        return wants

    async def _last(self) -> bool:
        """Lay out, which asks for pictures that are to be seen, and let the last moment of a step pass for them.

        Keeps what was copied; returns whether something is to be pasted.
        """
        await self.call(_text_of(_SETTLE), "cairnSettle()")
        if self._mouse != NOWHERE:
            await self.move(*self._mouse)  # what lies under it now would else learn of it at some frame
        await self.frame()
        news = self.call(_text_of(_CLIPBOARD), "cairnClipboard.news()")
        # Sent first: it is due at that very moment. Nobody waits for it where another document comes.
        due = begun(self._world.wait(self._frame, _DUE))
        _, (copied, wants), _ = await asyncio.gather(self._world.know(), news, self._pass(_LAST_MS))
        await asyncio.wait([due], timeout=_SOON_S)  # Chromium tells that time is over before it runs what is due then
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
        """Return whether time stands still for nothing: Chromium may miss that a request has been answered."""
        if self._is_asking():
            return False
        clock = await self.call("", "Date.now()")
        return not await self._has_rested() and not self._is_asking() and await self.call("", "Date.now()") == clock

    async def mouse(
        self, kind: str, x: float, y: float, button: str = "none", held: str = "none", count: int = 0
    ) -> None:
        """Have the mouse do something: `kind` as Chromium's protocol has it, by a button, while one is held."""
        self._mouse = x, y
        buttons = _HELD[held]
        sent = {"x": x, "y": y, "button": button, "buttons": buttons, "clickCount": count}
        await self.send("Input.dispatchMouseEvent", type=kind, **sent)

    async def move(self, x: float, y: float, held: str = "none") -> None:
        """Move the mouse.

        Documents take moves in with a frame or with what comes next: here a release of nothing, which they do not see.
        """
        await asyncio.gather(
            self.mouse("mouseMoved", x, y, held, held),
            self.mouse("mouseReleased", x, y, held=held),
        )

    async def frame(self) -> None:
        """Have a frame made now: with one, and not sooner, documents learn of what was scrolled, resized or brought in.

        Of a document that has asked to go elsewhere none is made before time passes; it learns nothing any more.
        """
        made = self._frames.make()
        leaves = asyncio.ensure_future(self._leaves.wait())
        await asyncio.wait((made, leaves, self._end), return_when=asyncio.FIRST_COMPLETED)
        leaves.cancel()

    async def picture(self) -> bytes:
        """Return what is in the window, as a PNG.

        Raises:
            SandboxFailure: there is no document any more, or no picture of it.
        """
        made = self._frames.picture()
        await asyncio.wait((made, self._end), return_when=asyncio.FIRST_COMPLETED)
        if self._end.done():
            raise SandboxFailure(self._end.result())
        return made.result()

    async def _is_late(self) -> None:
        """A frame does not come: unless the document is about to leave, and answers until then, its scripts hang."""
        answer = begun(self.send("Runtime.evaluate", expression="0"))
        await asyncio.wait([answer], timeout=_STUCK_S)
        if not (answer.done() and (self._is_loading or self._leaves.is_set())):
            self.end("A page of the browser hangs in a frame")

    async def go(self, url: str, script: str = "") -> str | None:
        """Go to an address and let the document load; return why it could not be reached, or None.

        `script`: run among the document's own, once it has loaded.
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
        """Return which of the addresses that were gone through is shown, and all of them."""
        found = await self.send("Page.getNavigationHistory")
        return found["currentIndex"], [entry["url"] for entry in found["entries"]]

    async def forget(self, shown: str | None = None) -> None:
        """Leave no address to go back to; `shown`: the one that stays, once the browser knows that it is shown."""
        while True:
            try:
                _, (_, left) = await asyncio.gather(self.send("Page.resetNavigationHistory"), self.history())
                if shown is None or left == [shown]:
                    return
            except PlaywrightError as error:
                if "active page" not in error.message:
                    raise
            await asyncio.sleep(_SWAP_S)  # another process of the browser's is about to show the document

    async def _dialog(self, dialog: Dialog) -> None:
        """Accept what only tells, or asks whether to leave; decline questions, which nobody can answer in time."""
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
        except PlaywrightError:  # the document is gone, and its dialog with it
            pass

    def _has_navigated(self, told: dict[str, Any]) -> None:  # Any: of Chromium's protocol
        if told["frame"]["id"] != self._frame:
            self._world.met(told["frame"]["id"])
        else:
            self._document = told["frame"]["loaderId"]
            self._world.end()
            if told["frame"]["url"] != _EMPTY:
                self._world.begin(self._frame)
            self._news.set()

    def _asks_to_leave(self, told: dict[str, Any]) -> None:  # Any: of Chromium's protocol
        if told["frameId"] == self._frame:
            self._num_asked += 1
            self._leaves.set()

    def _loads(self, told: dict[str, Any], *, is_loading: bool) -> None:  # Any: of Chromium's protocol
        if told["frameId"] == self._frame:
            self._is_loading = is_loading

    async def _until(self, is_so: Callable[[], bool]) -> None:
        """Wait until a document is shown that makes it so.

        Raises:
            SandboxFailure: there is no document any more.
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
        """Whether it shows nothing any more, without having been closed."""
        return self._end.done() and not self.is_closed

    def end(self, why: str) -> None:
        """There is no document any more: wake whoever waits for it."""
        if not self._end.done():
            self._end.set_result(why)
        self._rested.set()
        self._news.set()
