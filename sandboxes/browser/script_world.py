"""An isolated world for our scripts in a document, invisible to the document's own scripts."""

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
    """Runs scripts in the current document; their state lasts until the next document."""

    def __init__(self, send: Callable[..., Awaitable[Answer]]) -> None:
        """Set up without running a script; `send` calls a method of Chromium."""
        self._send = send
        self._number: asyncio.Future[int] | None = None  # Chromium's number of this world in the document
        self._were_run = set[str]()
        self._inner = set[str]()  # frames with documents that `know` has not processed

    def end(self) -> None:
        """Reset the state, because another document is shown."""
        self._number, self._were_run = None, set()

    def begin(self, frame: str) -> asyncio.Future[int]:
        """Create the world in the document of a frame, if it does not exist; `call` also does so."""
        if self._number is None:
            self._number = begun(self._made(frame))  # its result may be ignored
        return self._number

    async def _made(self, frame: str) -> int:
        made = await self._send("Page.createIsolatedWorld", frameId=frame, worldName=WORLD)
        return int(made["executionContextId"])

    async def call(self, frame: str, script: str, expression: str) -> Any:  # Any: JSON
        """Run a script once per document, and return the value of an expression.

        Raises:
            SandboxFailure: it raised, or no document is left.
            PlaywrightError: Chromium refused.
        """
        source = f"JSON.stringify({expression})"  # one string is transferred faster than its parts
        answer = None
        with contextlib.suppress(PlaywrightError):  # the document is gone
            answer = await self._run(frame, script, source)
        if answer is None or "exceptionDetails" in answer:
            self.end()
            answer = await self._run(frame, script, source)
        if "exceptionDetails" in answer:
            description = answer["exceptionDetails"].get("exception", {}).get("description", "without a word")
            raise SandboxFailure(f"A page of the browser cannot be read: {description:.300}")
        value = answer["result"].get("value")
        return None if value is None else json.loads(value)

    def met(self, inner: str) -> None:
        """Record that a frame in the document shows another document."""
        self._inner.add(inner)

    async def know(self) -> None:
        """Keep roles and names of documents in frames cached, as in the main document.

        Otherwise Chromium computes all of them again for each queried element.
        """
        inner, self._inner = self._inner, set()
        known = [self._send("Accessibility.getRootAXNode", frameId=frame) for frame in inner]
        await asyncio.gather(*known, return_exceptions=True)  # a frame may be gone

    async def wait(self, frame: str, promise: str) -> None:
        """Wait until a promise is resolved.

        Raises:
            SandboxFailure: no document is left.
            PlaywrightError: another document is shown.
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
