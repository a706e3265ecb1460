"""A world of scripts of ours in a document, which the document's own scripts do not see."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

from playwright.async_api import Error as PlaywrightError

from cairn.core.errors import SandboxFailure

WORLD = "cairn"
Answer = dict[str, Any]  # Any: of Chromium's protocol


class World:
    """Runs scripts in the document that is shown; what they leave stays until another is."""

    def __init__(self, send: Callable[..., Awaitable[Answer]]) -> None:
        """Have nothing run yet; `send` has Chromium do something."""
        self._send = send
        self._number: int | None = None  # Chromium's, of this world in the document
        self._were_run = set[str]()

    def end(self) -> None:
        """Another document is shown."""
        self._number = None

    async def call(self, frame: str, script: str, expression: str) -> Any:  # Any: JSON
        """Return the value of an expression after a script, which is run once in a document.

        Raises:
            SandboxFailure: it raised.
            PlaywrightError: it cannot be done.
        """
        source = f"JSON.stringify({expression})"  # one text is carried sooner than what it is made of
        answer = await self._call_again(script, source)
        if answer is None:
            made = await self._send("Page.createIsolatedWorld", frameId=frame, worldName=WORLD)
            self._number = number = int(made["executionContextId"])
            answer = await self._evaluate(f"{script}\n{source}", number)
            self._were_run = {script}
        if "exceptionDetails" in answer:
            told = answer["exceptionDetails"].get("exception", {}).get("description", "without a word")
            raise SandboxFailure(f"A page of the browser cannot be read: {told:.300}")
        value = answer["result"].get("value")
        return None if value is None else json.loads(value)

    async def _call_again(self, script: str, source: str) -> Answer | None:
        """Return the answer of the document that was asked last; None: it is not there any more."""
        if self._number is None:
            return None
        with contextlib.suppress(PlaywrightError):
            whole = source if script in self._were_run else f"{script}\n{source}"
            answer = await self._evaluate(whole, self._number)
            if "exceptionDetails" not in answer:
                self._were_run.add(script)
                return answer
        return None

    async def _evaluate(self, source: str, number: int) -> Answer:
        return await self._send("Runtime.evaluate", expression=source, contextId=number, returnByValue=True)
