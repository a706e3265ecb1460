"""Executes actions on a page like a user with mouse and keyboard.

An action that cannot be executed raises `ActionRefused`, whose text the agent gets.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from playwright.async_api import Error as PlaywrightError

from cairn.core.errors import SandboxFailure
from cairn.envs.gui.accessibility import View, reader
from cairn.envs.gui.actions import BIDS, GuiCall
from cairn.sandboxes.browser.page import BrowserPage
from cairn.sandboxes.browser.tab import Tab

Arguments = dict[str, Any]  # Any: see actions.Call
_DRAG_STEPS = 5
_AGENT_ERRORS = ("Unknown key", "invalid URL")  # texts of Playwright and Chromium for errors by the agent
_MOST_TYPED = 4096
_MOST_KEYS = 4  # of a key combination


class ActionRefused(Exception):  # noqa: N818  (an outcome for the agent, not a bug)
    """An action that cannot be executed; the text gives the reason."""


async def carry_out(page: BrowserPage, view: View, call: GuiCall) -> None:
    """Execute a call on the elements of `view`; see `BrowserPage.settle`.

    Raises:
        ActionRefused: the action cannot be executed.
        SandboxFailure: the page crashed or hangs.
    """
    given = dict(call.arguments)
    tab = page.tab
    places = {name: _place(view, value) for name, value in given.items() if name in BIDS}
    try:
        await _HOW[call.name](page, places, given)
    except PlaywrightError as error:
        if any(phrase in error.message for phrase in _AGENT_ERRORS):
            raise ActionRefused(error.message.splitlines()[0][:200]) from None
        if not tab.is_closed:
            raise
    except SandboxFailure:
        if not tab.is_closed:  # otherwise the document closed its own tab, which is a valid result
            raise


def _place(view: View, bid: str) -> int:
    at = view.place(bid)
    if at is None:
        raise ActionRefused(f"There is no element {bid[:20]!r} on this page.")
    return at


async def _ask(tab: Tab, expression: str) -> Any:  # Any: JSON
    return await tab.call(reader(), f"cairn.{expression}")


async def _point(tab: Tab, at: int, how: str = "point") -> tuple[float, float]:
    found = await _ask(tab, f"{how}({at})")
    if "problem" in found:
        raise ActionRefused(f"The element {found['problem']}.")
    if found["moves"]:
        await tab.frame()
    return found["x"], found["y"]


async def _click_at(tab: Tab, x: float, y: float, button: str = "left", times: int = 1) -> None:
    events = [tab.mouse("mouseMoved", x, y)]
    for count in range(1, times + 1):
        events += [
            tab.mouse("mousePressed", x, y, button, button, count),
            tab.mouse("mouseReleased", x, y, button, count=count),
        ]
    await asyncio.gather(*events, tab.move(x, y))  # the element at the new position gets the mouse event at once


async def _click(page: BrowserPage, places: dict[str, int], given: Arguments, times: int = 1) -> None:
    tab = page.tab
    await _click_at(tab, *await _point(tab, places["bid"]), given.get("button", "left"), times)


async def _dblclick(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await _click(page, places, given, 2)


async def _hover(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await page.tab.move(*await _point(page.tab, places["bid"]))


async def _fill(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    text = given.get("value", "")
    if len(text) > _MOST_TYPED:
        raise ActionRefused(f"A text may have {_MOST_TYPED} characters.")
    found = await _ask(page.tab, f"ready({places['bid']}, {json.dumps(text)})")
    if "problem" in found:
        raise ActionRefused(f"The element {found['problem']}.")
    if found["type"]:
        await _type(page.tab, text)


async def _type(tab: Tab, text: str) -> None:
    """Replace the selection by a text."""
    if text:
        await tab.send("Input.insertText", text=text.encode("utf-8", "replace").decode())
    else:
        await tab.driven.keyboard.press("Delete")


async def _check(page: BrowserPage, places: dict[str, int], given: Arguments, wanted: bool = True) -> None:
    is_checked = await _ask(page.tab, f"isChecked({places['bid']})")
    if is_checked is None:
        raise ActionRefused("The element is nothing to tick.")
    if is_checked != wanted:
        await _click(page, places, given)


async def _uncheck(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await _check(page, places, given, wanted=False)


async def _require_success(answer: Awaitable[str | None]) -> None:
    if (problem := await answer) is not None:
        raise ActionRefused(f"The element {problem}.")


async def _select(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    wanted = [given["options"]] if isinstance(given["options"], str) else list(given["options"])
    await _require_success(_ask(page.tab, f"choose({places['bid']}, {json.dumps(wanted)})"))


async def _press(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await _require_success(_ask(page.tab, f"focus({places['bid']})"))
    await _press_key(page.tab, given["key_comb"])


async def _press_key(tab: Tab, combination: str) -> None:
    """Press keys one after another and release them, even if one is invalid.

    Playwright itself would keep the others pressed.
    """
    keys = re.split(r"(?<=[^+])\+", combination)  # the plus itself may be a key
    if len(keys) > _MOST_KEYS:
        raise ActionRefused(f"A combination may have {_MOST_KEYS} keys.")
    async with contextlib.AsyncExitStack() as held:
        for key in keys:
            await tab.driven.keyboard.down(key)
            held.push_async_callback(tab.driven.keyboard.up, key)
    await tab.frame()  # the key may have scrolled something


async def _focus(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await _require_success(_ask(page.tab, f"focus({places['bid']})"))


async def _drag(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    """Press the mouse before scrolling the target into view, since that may move the source."""
    tab = page.tab
    await _point(tab, places["to_bid"])  # checks that the target is reachable before the press
    start = await _point(tab, places["from_bid"])
    await _take(tab, start)
    try:
        end = await _point(tab, places["to_bid"], "bring")  # an element may cover it since the press
    except ActionRefused:
        await tab.mouse("mouseReleased", *start, "left", count=1)
        raise
    await _carry(tab, start, end)


async def _take(tab: Tab, start: tuple[float, float]) -> None:
    """Press the mouse on an element."""
    await tab.call("", "getSelection().removeAllRanges()")  # otherwise the browser drags the selection instead
    await tab.move(*start)
    await tab.mouse("mousePressed", *start, "left", "left", 1)


async def _carry(tab: Tab, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Move the mouse with the dragged element, and release it."""
    for step in range(1, _DRAG_STEPS + 1):
        x, y = (a + (b - a) * step / _DRAG_STEPS for a, b in zip(start, end, strict=True))
        await tab.move(x, y, "left")
    await tab.mouse("mouseReleased", *end, "left", count=1)


async def _mouse_drag(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    start = given["from_x"], given["from_y"]
    await _take(page.tab, start)
    await _carry(page.tab, start, (given["to_x"], given["to_y"]))


async def _scroll(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await _ask(page.tab, f"scroll({json.dumps(given['delta_x'])}, {json.dumps(given['delta_y'])})")
    await page.tab.frame()


async def _mouse_move(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await page.tab.move(given["x"], given["y"])


async def _mouse_click(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await _click_at(page.tab, given["x"], given["y"], given.get("button", "left"))


async def _mouse_dblclick(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await _click_at(page.tab, given["x"], given["y"], times=2)


async def _keyboard_type(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    if len(given["text"]) > _MOST_TYPED:
        raise ActionRefused(f"A text may have {_MOST_TYPED} characters.")
    if given["text"]:
        await _type(page.tab, given["text"])


async def _keyboard_press(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await _press_key(page.tab, given["key"])


async def _goto(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    url = given["url"] if "://" in given["url"] else f"http://{given['url']}"
    if not url.lower().startswith(("http://", "https://")):
        raise ActionRefused("Addresses begin with http://.")
    if (problem := await page.tab.go(url)) is not None:
        raise ActionRefused(f"It could not be reached: {problem}.")


async def _move_in_history(page: BrowserPage, by: int) -> None:
    history = await page.tab.send("Page.getNavigationHistory")
    at = history["currentIndex"] + by
    if not 0 <= at < len(history["entries"]):
        raise ActionRefused("The tab's history ends here.")
    await page.tab.send("Page.navigateToHistoryEntry", entryId=history["entries"][at]["id"])


async def _go_back(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await _move_in_history(page, -1)


async def _go_forward(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await _move_in_history(page, 1)


async def _new_tab(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    if not await page.open_tab():
        raise ActionRefused("There is no room for another tab.")


async def _tab_close(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    await page.close_tab(page.active)


async def _tab_focus(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    if given["index"] >= len(page.tabs):
        raise ActionRefused(f"There are {len(page.tabs)} tabs, counted from 0.")
    page.active = given["index"]


async def _noop(page: BrowserPage, places: dict[str, int], given: Arguments) -> None:
    pass


_HOW: dict[str, Callable[[BrowserPage, dict[str, int], Arguments], Awaitable[None]]] = {
    "click": _click,
    "dblclick": _dblclick,
    "hover": _hover,
    "fill": _fill,
    "clear": _fill,
    "check": _check,
    "uncheck": _uncheck,
    "select_option": _select,
    "press": _press,
    "focus": _focus,
    "drag_and_drop": _drag,
    "scroll": _scroll,
    "mouse_move": _mouse_move,
    "mouse_click": _mouse_click,
    "mouse_dblclick": _mouse_dblclick,
    "mouse_drag_and_drop": _mouse_drag,
    "keyboard_type": _keyboard_type,
    "keyboard_press": _keyboard_press,
    "goto": _goto,
    "go_back": _go_back,
    "go_forward": _go_forward,
    "new_tab": _new_tab,
    "tab_close": _tab_close,
    "tab_focus": _tab_focus,
    "noop": _noop,
}
