"""One tab of a leased page: time stands still in it but for what each step gives, and a step ends when it is at rest.

Time is Chromium's virtual time. Clocks, timers and intervals of a document go on by exactly what `advance` says, and
wait while anything is asked of the network, navigations included; so a step is over when all that it began is, without
sleeping. Every document's clock begins at the same moment. Scripts get their frames by timers, as many each time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Coroutine
from typing import Any

from playwright.async_api import CDPSession, Dialog, Download
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page as Driven

from cairn.core.errors import SandboxFailure

STEP_MS = 100  # of virtual time
_LAST_MS = 1  # of these, after what is shown has been laid out
NOWHERE = (-1, -1)  # where the mouse begins: what lies under it would look otherwise
BEGINNING_MS = 1_900_000_000_000  # what clocks say when a document begins: since 1970
_EMPTY = "about:blank"
CLOSED = "A tab of the browser is closed"
_SWAP_S, _STUCK_S = 0.005, 2.0
_MOST_DIALOGS = 20  # of a step; a document that asks for more is closed
_MOST_LOADS = 10  # of a step that are waited for; a document may go elsewhere without an end
_WHEN_LOADED = """
(run => document.readyState === "complete" ? run() : addEventListener("load", run))(() => setTimeout(() => {SCRIPT}))
"""
_SCRIPT = """
(() => {
  const RealDate = Date, shift = RealDate.now() - BEGINNING, now = () => RealDate.now() - shift;
  window.Date = new Proxy(RealDate, {
    construct: (date, given) => given.length ? new date(...given) : new date(now()),
    apply: () => new RealDate(now()).toString(),
    get: (date, name) => name === "now" ? now : Reflect.get(date, name),
  });
  performance.now = () => now() - BEGINNING;
  window.requestAnimationFrame = f => setTimeout(() => f(performance.now()), 16);
  window.cancelAnimationFrame = n => clearTimeout(n);
  const open = window.open;
  window.open = (...given) => navigator.userActivation.isActive ? open.apply(window, given) : null;
  let state = SEED;
  const next = () => {
    state = (state + 0x6D2B79F5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  Math.random = next;
  crypto.getRandomValues = a => {
    for (let i = 0; i < a.length; i++) a[i] = Math.floor(next() * 4294967296);
    return a;
  };
  document.addEventListener("DOMContentLoaded", () => {  // else at some frame, and frames come when they like
    const first = document.querySelector("[autofocus]");
    if (first && document.activeElement === document.body) first.focus();
  });
  const sheet = new CSSStyleSheet();  // a document's own policy may forbid <style>
  sheet.replaceSync("*, *::before, *::after { animation: none !important; transition: none !important; " +
    "caret-color: transparent !important }");
  document.adoptedStyleSheets.push(sheet);
})();
"""


class Tab:
    """A document that is shown, and what Chromium can be asked to do with it."""

    def __init__(
        self, driven: Driven, cdp: CDPSession, notice: Callable[[str], None], is_asking: Callable[[], bool]
    ) -> None:
        """Show nothing yet.

        Args:
            driven: the tab, as Playwright has it.
            cdp: what Chromium is asked by.
            notice: told of what the document wanted and did not get, or was answered at once.
            is_asking: whether sites have requests to answer.
        """
        self.driven, self._cdp, self._notice, self._is_asking = driven, cdp, notice, is_asking
        self._num_dialogs = 0
        self._script: str | None = None  # what runs first in each document
        self._frame = ""  # Chromium's name of what shows the document
        self._rested = asyncio.Event()
        self._news = asyncio.Event()  # another document is shown, or there is none any more
        self._document = ""  # Chromium's name of the one that is shown
        self._is_loading = False
        self._worlds = dict[str, int]()  # in which scripts were run, by script: Chromium's number of it
        self._end = asyncio.get_running_loop().create_future()  # why there is no document any more

    async def prepare(self, seed: int) -> None:
        """Listen to the document, and begin."""
        self._cdp.on("Emulation.virtualTimeBudgetExpired", lambda _: self._rested.set())
        self._cdp.on("Page.frameNavigated", self._has_navigated)
        self._cdp.on("Page.frameStartedLoading", lambda told: self._loads(told, is_loading=True))
        self._cdp.on("Page.frameStoppedLoading", lambda told: self._loads(told, is_loading=False))
        self.driven.on("dialog", self._dialog)
        self.driven.on("download", self._download)
        self.driven.on("crash", lambda _: self.end("A page of the browser crashed"))
        await asyncio.gather(self.send("Page.enable"), self.send("Accessibility.enable"))  # roles and names stay known
        self._frame = (await self.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        await self._rule(seed)

    async def begin(self, seed: int) -> None:
        """Show an empty document and no history; clocks stand still, and chance from now on follows from the seed."""
        empty = await self._rule(seed, self.send("Page.navigate", url=_EMPTY))
        await self._until(lambda: self._document == empty["loaderId"])
        await self.forget(_EMPTY)

    async def _rule(self, seed: int, *then: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
        """Have clocks stand still, chance follow from the seed, and what comes then done; return the last answer."""
        script = _SCRIPT.replace("SEED", str(seed)).replace("BEGINNING", str(BEGINNING_MS))
        last = () if self._script is None else (self._remove(self._script),)
        _, added, *answers = await asyncio.gather(
            self.send("Emulation.setVirtualTimePolicy", policy="pause"),
            self.send("Page.addScriptToEvaluateOnNewDocument", source=script),
            *last,
            *then,
        )
        self._script = added["identifier"]
        last_answer: dict[str, Any] = (added, *answers)[-1]  # Any: of Chromium's protocol
        return last_answer

    def _remove(self, script: str) -> Coroutine[Any, Any, dict[str, Any]]:  # Any: of Chromium's protocol
        return self.send("Page.removeScriptToEvaluateOnNewDocument", identifier=script)

    async def send(self, method: str, **params: Any) -> dict[str, Any]:  # Any: of Chromium's protocol
        """Have Chromium do something.

        Raises:
            SandboxFailure: there is no document any more.
            PlaywrightError: it cannot be done.
        """
        answer = asyncio.ensure_future(self._cdp.send(method, params))
        await asyncio.wait((answer, self._end), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.add_done_callback(lambda late: late.cancelled() or late.exception())  # nobody waits for it any more
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
        source = f"JSON.stringify({expression})"  # one text is carried sooner than what it is made of
        answer = await self._call_again(script, source)
        if answer is None:
            world = await self.send("Page.createIsolatedWorld", frameId=self._frame, worldName="cairn")
            self._worlds[script] = world["executionContextId"]
            answer = await self._evaluate(f"{script}\n{source}", self._worlds[script])
        if "exceptionDetails" in answer:
            told = answer["exceptionDetails"].get("exception", {}).get("description", "without a word")
            raise SandboxFailure(f"A page of the browser cannot be read: {told:.300}")
        value = answer["result"].get("value")
        return None if value is None else json.loads(value)

    async def _call_again(self, script: str, source: str) -> dict[str, Any] | None:  # Any: of Chromium's protocol
        """Return the answer of the world in which the script was run; None: it is not there any more."""
        if script in self._worlds:
            with contextlib.suppress(PlaywrightError):
                answer = await self._evaluate(source, self._worlds[script])
                if "exceptionDetails" not in answer:
                    return answer
        return None

    def _evaluate(self, source: str, world: int) -> Coroutine[Any, Any, dict[str, Any]]:  # Any: as above
        return self.send("Runtime.evaluate", expression=source, contextId=world, returnByValue=True)

    async def advance(self, milliseconds: int = STEP_MS) -> None:
        """Let so much time pass in the document, after whatever it is waiting for; nothing, if it closes itself.

        Raises:
            SandboxFailure: it crashed.
        """
        self._num_dialogs = 0
        try:
            await self._pass(milliseconds - _LAST_MS)
            for _ in range(_MOST_LOADS):
                if not self._is_loading:
                    break
                await self._pass(milliseconds)  # Chromium may miss that a document is on its way
            await self._pass(
                _LAST_MS, self.send("Page.getLayoutMetrics")
            )  # lays out, and so asks for pictures to be seen
        except (PlaywrightError, SandboxFailure):
            if not self.is_closed:
                raise
        if self._end.done() and not self.is_closed:
            raise SandboxFailure(self._end.result())

    async def _pass(self, milliseconds: int, *before: Coroutine[Any, Any, object]) -> None:
        """Let so much time pass, after what is to be done before."""
        self._rested.clear()
        policy = {"policy": "pauseIfNetworkFetchesPending", "budget": milliseconds}
        await asyncio.gather(*before, self.send("Emulation.setVirtualTimePolicy", **policy))
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

    async def move(self, x: float, y: float, button: str = "none", buttons: int = 0) -> None:
        """Move the mouse; `button` and `buttons`: which is held, as Chromium has it.

        Documents take moves in with a frame or with what comes next: here a release of nothing, which they do not see.
        """
        moved = {"x": x, "y": y, "buttons": buttons}
        await asyncio.gather(
            self.send("Input.dispatchMouseEvent", type="mouseMoved", button=button, **moved),
            self.send("Input.dispatchMouseEvent", type="mouseReleased", button="none", **moved),
        )

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
        if told["frame"]["id"] == self._frame:
            self._document = told["frame"]["loaderId"]
            self._worlds.clear()
            self._news.set()

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
