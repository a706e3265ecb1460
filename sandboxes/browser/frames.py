"""Requests frames from Chromium.

Documents learn of scrolling, resizing and visibility only in a frame.

The headless shell makes a frame only on request. So frames and screenshots are made immediately, and cost nothing
otherwise. Other Chromiums make frames on their own schedule, and the caller waits for the next one.
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

FRAME = "new Promise(resolve => requestAnimationFrame(resolve))"  # in our script world it is Chromium's own function
_MAKE = "HeadlessExperimental.beginFrame"
_UNKNOWN = "wasn't found"  # phrase of Chromium's message
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
        """Set up without making a frame.

        Args:
            cdp: the connection to Chromium.
            turn: lock, held while a frame is made. All tabs of a Chromium share it: Chromium crashes if two frames are
                requested at once.
            wait: waits for a frame that Chromium makes by itself.
            is_late: called repeatedly while a frame takes longer than it should, because other tabs wait for it.
        """
        self._cdp, self._turn, self._wait, self._is_late = cdp, turn, wait, is_late
        self._makes = True  # whether Chromium makes frames on request

    def make(self) -> asyncio.Future[object]:
        """Make a frame without drawing."""
        return begun(self._make({"noDisplayUpdates": True}))

    def picture(self) -> asyncio.Future[bytes]:
        """Make and draw a frame; the result is a PNG.

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
                return await self._send(how)
            except PlaywrightError as error:
                if _UNKNOWN not in error.message:
                    raise
                self._makes = False
        await self._wait()
        return {}

    async def _send(self, how: dict[str, Any]) -> dict[str, Any]:  # Any: of Chromium's protocol
        """Return Chromium's answer.

        Holds the lock until it arrives, even if the caller stops waiting.
        """
        async with self._turn:
            answer = begun(self._cdp.send(_MAKE, how))
            while not answer.done():
                await asyncio.wait([answer], timeout=_LATE_S)
                if not answer.done():
                    await self._is_late()
            found: dict[str, Any] = await answer
            return found
