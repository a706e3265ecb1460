"""Documents for a real Chromium, and their final content."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from cairn.sandboxes.browser.browser import Browser
from cairn.sandboxes.browser.page import BrowserPage

SHOWS = "<p id=c></p><script>c.textContent = [%s].join(' ')</script>"
TICKS = """<script>
ticks = frames_ = 0;
setInterval(() => ticks++, 10);
(function frame() { frames_++; requestAnimationFrame(frame) })();
</script>"""


class Documents:
    """A site whose documents a test writes."""

    def __init__(self, documents: Mapping[str, str]) -> None:
        self._documents = documents

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # Any: ASGI's
        async def answer(request: Request) -> Response:
            if request.method == "POST":
                return RedirectResponse("/after", 303)
            if request.url.path == "/p.svg":
                await asyncio.sleep(0.2)
                return Response(
                    "<svg xmlns='http://www.w3.org/2000/svg' width='31' height='31'/>", 200, None, "image/svg+xml"
                )
            if request.url.path.startswith("/slow"):
                await asyncio.sleep(1.5)
            return HTMLResponse(self._documents.get(request.url.path, ""))

        app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])
        await app(scope, receive, send)


async def evaluated(page: BrowserPage, expression: str) -> Any:  # Any: JSON
    answer = await page.tab.send("Runtime.evaluate", expression=expression, returnByValue=True)
    return answer["result"].get("value")


def shown(browser: Browser, page: BrowserPage, document: str, expression: str = "c.textContent", seed: int = 0) -> Any:
    """Return the value of an expression in a document at rest."""

    async def look() -> Any:
        await page.begin({"site": Documents({"/": document})}, "http://site/", seed)
        await page.settle()
        return await evaluated(page, expression)

    return browser.run(look())
