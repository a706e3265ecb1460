"""Has Chromium make frames: with one, and not sooner, a document learns of what was scrolled, resized or brought in.

The headless shell makes a frame when it is told to, and only then: so frames, pictures among them, are there as soon as
they are asked for, and cost nothing otherwise. Other Chromiums make frames as they like, and one is waited for.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.browser.loop import begun

FRAME = "new Promise(resolve => requestAnimationFrame(resolve))"  # in our world it is Chromium's own
_MAKE = "HeadlessExperimental.beginFrame"
_UNKNOWN = "wasn't found"  # Chromium's words
_LATE_S = 5.0
_HOW = {"format": "png", "optimizeForSpeed": True}


class Frames:
    """Makes one frame at a time."""

    def __init__(
        self,
        cdp: CDPSession,
        turn: asyncio.Lock,
        wait: Callable[[], Awaitable[None]],
        is_late: Callable[[], Awaitable[None]],
    ) -> None:
        """Make none yet.

        Args:
            cdp: what Chromium is asked by.
            turn: held while a frame is made. It is one for all tabs of a Chromium, which ends if asked for two at once.
            wait: waits for a frame that Chromium makes by itself.
            is_late: told, again and again, when a frame takes longer than any document should: others wait for it.
        """
        self._cdp, self._turn, self._wait, self._is_late = cdp, turn, wait, is_late
        self._makes = True  # when told to, and only then

    def make(self) -> asyncio.Future[object]:
        """Have a frame made, and nothing drawn."""
        return begun(self._make({"noDisplayUpdates": True}))

    def picture(self) -> asyncio.Future[bytes]:
        """Have a frame made and drawn; its result is a PNG.

        Raises:
            SandboxFailure: nothing was drawn.
        """
        return begun(self._picture())

    async def _picture(self) -> bytes:
        data = (await self._make({"screenshot": _HOW})).get("screenshotData")
        if not self._makes:
            data = (await self._cdp.send("Page.captureScreenshot", _HOW))["data"]
        if data is None:
            raise SandboxFailure("A page of the browser has no picture")
        return base64.b64decode(data)

    async def _make(self, how: dict[str, Any]) -> dict[str, Any]:  # Any: of Chromium's protocol
        if self._makes:
            try:
                return await self._told(how)
            except PlaywrightError as error:
                if _UNKNOWN not in error.message:
                    raise
                self._makes = False
        await self._wait()
        return {}

    async def _told(self, how: dict[str, Any]) -> dict[str, Any]:  # Any: of Chromium's protocol
        """Return Chromium's answer, keeping others waiting until it is there, whether or not anybody waits for it."""
        async with self._turn:
            answer = begun(self._cdp.send(_MAKE, how))
            while not answer.done():
                await asyncio.wait([answer], timeout=_LATE_S)
                if not answer.done():
                    await self._is_late()
            found: dict[str, Any] = await answer
            return found
