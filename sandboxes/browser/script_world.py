"""A world of scripts of ours in a document, which the document's own scripts do not see."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

from playwright.async_api import Error as PlaywrightError

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.browser.loop import begun

WORLD = "cairn"
Answer = dict[str, Any]  # Any: of Chromium's protocol


class ScriptWorld:
    """Runs scripts in the document that is shown; what they leave stays until another is."""

    def __init__(self, send: Callable[..., Awaitable[Answer]]) -> None:
        """Have nothing run yet; `send` has Chromium do something."""
        self._send = send
        self._number: asyncio.Future[int] | None = None  # Chromium's, of this world in the document
        self._were_run = set[str]()
        self._inner = set[str]()  # frames in the document with another document than `know` has met

    def end(self) -> None:
        """Another document is shown."""
        self._number, self._were_run = None, set()

    def begin(self, frame: str) -> asyncio.Future[int]:
        """Have the world made, in the document that a frame shows, unless it is; `call` does it too, if it must."""
        if self._number is None:
            self._number = begun(self._made(frame))  # nobody may ask for it
        return self._number

    async def _made(self, frame: str) -> int:
        made = await self._send("Page.createIsolatedWorld", frameId=frame, worldName=WORLD)
        return int(made["executionContextId"])

    async def call(self, frame: str, script: str, expression: str) -> Any:  # Any: JSON
        """Return the value of an expression after a script, which is run once in a document.

        Raises:
            SandboxFailure: it raised, or there is no document any more.
            PlaywrightError: it cannot be done.
        """
        source = f"JSON.stringify({expression})"  # one text is carried sooner than what it is made of
        answer = None
        with contextlib.suppress(PlaywrightError):  # the document is not there any more
            answer = await self._run(frame, script, source)
        if answer is None or "exceptionDetails" in answer:
            self.end()
            answer = await self._run(frame, script, source)
        if "exceptionDetails" in answer:
            told = answer["exceptionDetails"].get("exception", {}).get("description", "without a word")
            raise SandboxFailure(f"A page of the browser cannot be read: {told:.300}")
        value = answer["result"].get("value")
        return None if value is None else json.loads(value)

    def met(self, inner: str) -> None:
        """A frame in the document shows another one."""
        self._inner.add(inner)

    async def know(self) -> None:
        """Have the roles and names of documents in frames stay known, as those of the one around them do.

        Without it Chromium finds them all anew for each element that is asked about.
        """
        inner, self._inner = self._inner, set()
        known = [self._send("Accessibility.getRootAXNode", frameId=frame) for frame in inner]
        await asyncio.gather(*known, return_exceptions=True)  # a frame may be gone

    async def wait(self, frame: str, promise: str) -> None:
        """Wait until a promise is kept.

        Raises:
            SandboxFailure: there is no document any more.
            PlaywrightError: another one is shown.
        """
        number = await self.begin(frame)
        await self._send("Runtime.evaluate", expression=promise, contextId=number, awaitPromise=True)

    async def _run(self, frame: str, script: str, source: str) -> Answer:
        number, were_run = await self.begin(frame), self._were_run
        whole = source if script in were_run else f"{script}\n{source}"
        answer = await self._send("Runtime.evaluate", expression=whole, contextId=number, returnByValue=True)
        if "exceptionDetails" not in answer:
            were_run.add(script)
        return answer
