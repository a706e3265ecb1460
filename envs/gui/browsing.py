"""Base of browser environments: a page of a real Chromium, actions, and observations.

Subclasses define the sites, how a task begins, how it is judged, and the part of the true state outside the pages.
Sites are applications of this process (see `sandboxes.browser.browser`): a page can reach nothing else.

The anchor covers the state outside the pages, the clipboard, and for each tab its address, its accessibility tree with
values and states but without element numbers, and its invisible state (`View.held`). If going back is allowed
(`history`), it also covers the visited addresses, so fewer states recur.

A page that crashes or hangs fails the episode; it is never scored.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
import weakref
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote_plus, urlsplit

from pydantic import Field, model_validator

from cairn.core.errors import MissingExtraError, SandboxFailure
from cairn.core.records import Box, Schema
from cairn.envs.base import EnvConfig, Outcome, TextEnv
from cairn.envs.gui.actions import FUNCTIONS, GuiActionError, GuiCall, parse, schemas, usage, written
from cairn.envs.gui.commands import RephrasableFunctions

if TYPE_CHECKING:
    from cairn.envs.gui.accessibility import View
    from cairn.sandboxes.browser.browser import Browser
    from cairn.sandboxes.browser.page import BrowserPage

_HISTORY = ("go_back", "go_forward")
_MOST_OPTIONS = 20  # of a select element, as admissible actions
_POINT_PX = 4  # half the side of the box around a point
_MOST_WAITS = 20  # maximum number of time steps until a page is ready
_FIRST = threading.Lock()  # environments in several threads share a browser
_SHARED: list[Browser] = []  # shared by all environments of this process, one for each page configuration


class GuiConfig(EnvConfig):
    """Configuration of a browser environment: page display and allowed actions."""

    width: int = Field(1024, ge=100, le=4096, description="Of the window, in pixels.")
    height: int = Field(768, ge=100, le=4096, description="Of the window, in pixels.")
    token_budget: int = Field(
        3000,
        ge=50,
        description="Of a page's text, at 4 characters a token; the least useful parts are left out beyond.",
    )
    image: bool = Field(False, description="Whether observations have a screenshot too, a PNG.")
    marks: bool = Field(False, description="Whether screenshots show elements' numbers.")
    history: bool = Field(False, description="Whether going back is possible: states then include the history.")
    step_s: float = Field(20.0, gt=0, description="Seconds after which a page hangs: its episode has failed then.")
    browser: str | None = Field(None, description="Path of Chromium or Chrome; None: Playwright's, or on the PATH.")
    chromium_sandbox: bool | None = Field(
        None, description="Whether Chromium's own sandbox is on; None: unless this process is root."
    )

    @model_validator(mode="after")
    def _check_marks(self) -> GuiConfig:
        if self.marks and not self.image:
            raise ValueError("marks = true needs image = true: it is screenshots that show elements' numbers")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The start of a task: goal, address and sites."""

    goal: str
    url: str
    sites: Mapping[str, Any]  # Any: ASGI applications, by host name
    script: str = ""  # run in the first document after it has loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class GuiVerdict:
    """The result of a finished task."""

    score: float
    success: bool
    text: str
    parts: Mapping[str, float] = field(default_factory=dict)  # of the score, as `meta.parts` names them


class GuiEnv(RephrasableFunctions, TextEnv):
    """Base of browser environments.

    Subclasses implement `open`, `judge`, `hidden` and an oracle.
    """

    Config: ClassVar[type[EnvConfig]] = GuiConfig
    config: GuiConfig
    without: ClassVar[tuple[str, ...]] = ()  # functions that this environment does not offer
    everything: ClassVar[bool] = False  # leaf elements without a role can be acted on too
    turn_ms: ClassVar[int] = 100  # page time per turn

    # -- for subclasses ----------------------------------------------------------------------------------------------

    def open(self, task_id: str, rng: random.Random) -> Opening:
        """Prepare the task's world."""
        raise NotImplementedError

    async def prepare(self, page: BrowserPage) -> str | None:
        """Return the loaded page's addition to the goal; None: the page is not ready yet."""
        return ""

    async def judge(self, page: BrowserPage, message: str | None) -> GuiVerdict | None:
        """Return the result of the task; None: it continues.

        `message`: the agent's message to the user, if any.
        """
        raise NotImplementedError

    def hidden(self) -> bytes:
        """Return the part of the true state that the pages do not show."""
        return b""

    def in_own_words(self, content: str) -> str:
        """Return the pages' content (JSON of nodes) with the instruction in its original wording."""
        return content

    def next_call(self, name: str) -> GuiCall:
        """Return the named oracle's next call."""
        raise NotImplementedError

    @property
    def goal(self) -> str:
        """The goal of the current episode."""
        return self._goal

    # -- implementation ----------------------------------------------------------------------------------------------

    def setup(self) -> None:
        """Prepare the browser; a page is acquired when an episode starts.

        Raises:
            MissingExtraError: Playwright is not installed.
            MissingProgramError: Chromium was not found.
        """
        self._first_limit = self.turn_limit
        self._no_reward = dict.fromkeys(self.meta.parts, 0.0)  # the parts of every turn's reward but the last one's
        self._page: BrowserPage | None = None
        self.view: View | None = None
        self._others: tuple[View, ...] = ()
        self._history: tuple[str, ...] = ()
        self._image: bytes | None = None
        self.acted: Box | None = None  # of the element of the last action
        self._functions = tuple(
            name for name in FUNCTIONS if name not in self.without and (self.config.history or name not in _HISTORY)
        )
        self._can_focus = "tab_focus" in self._functions
        self._browser = self._open_browser()

    def start(self, task_id: str, rng: random.Random) -> str:
        """Show the task's first page."""
        self.turn_limit = self._first_limit
        seed = rng.getrandbits(31)
        opening = self.open(task_id, rng)
        self._let_go_if_spent()
        self._has_ended, self._num_shown_notices = False, 0
        self._goal = opening.goal
        try:
            self._browser.run(self._begin(self._page_at_hand(), opening, seed))
        except BaseException:  # an interrupt too, which leaves a step unfinished; raised again
            self._lose_page()
            raise
        return "\n".join((f"Goal: {self._goal}", "", usage(self._functions), "", self._observation_text("")))

    def act(self, action: str) -> Outcome:
        """Execute a call and return the page as text."""
        self.acted = None
        if len(action) > self.meta.max_action_chars:
            return self._goes_on(f"An action may have {self.meta.max_action_chars} characters.")
        call = parse(action, self._functions)
        if isinstance(call, GuiActionError):
            return self._goes_on(call.text)
        try:
            verdict, error = self._browser.run(self._step(self._page_at_hand(), call))
        except BaseException:  # an interrupt too, which leaves a step unfinished; raised again
            self._lose_page()
            raise
        if verdict is None:
            return self._goes_on(error)
        self._has_ended = True
        return Outcome(
            verdict.text,
            verdict.score,
            terminated=True,
            success=verdict.success,
            score=verdict.score,
            channels=verdict.parts,
        )

    def state(self) -> bytes:
        """Return the state outside the pages, and each tab's content."""
        assert self.view is not None
        shown = [_canonical(view) for view in (self.view, *self._others)]
        index, copied = (self._page.active, self._page.clipboard.text) if self._page is not None else (0, "")
        content = json.dumps([shown, index, copied, self._history, self._has_ended], ensure_ascii=True)
        parts = self.in_own_words(content).encode()
        return b"%d:%b%b" % (len(parts), parts, self.hidden())

    def admissible(self) -> tuple[str, ...] | None:
        """Return clicks, choices from lists, and other tabs.

        Typed texts and points are not listed, since they are unlimited.
        """
        if self._has_ended or self.view is None:
            return ()
        calls = []
        for node in self.view.nodes:
            if node.bid and "disabled" not in node.states:
                calls.append(GuiCall(name="click", arguments={"bid": node.bid}))
                for option in dict.fromkeys(node.options[:_MOST_OPTIONS]):
                    calls.append(GuiCall(name="select_option", arguments={"bid": node.bid, "options": option}))
        for index in range(len(self._others) + 1):
            if self._others and self._can_focus and self._page is not None and index != self._page.active:
                calls.append(GuiCall(name="tab_focus", arguments={"index": index}))
        return tuple(sorted({written(call) for call in calls}))

    def tools(self) -> tuple[Schema, ...]:
        """Return the functions' schemas."""
        return schemas(self._functions)

    def oracle_action(self, name: str) -> str:
        """Return the oracle's next call as text."""
        return written(self.next_call(name))

    def close(self) -> None:
        """Return the page to the browser."""
        if self._page is not None:
            self._release.detach()
            self._browser.give_back(self._page)
            self._page = None

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _goes_on(self, error: str) -> Outcome:
        """Return the outcome of a turn that does not end the task."""
        return Outcome(self._observation_text(error), channels=self._no_reward)

    def _open_browser(self) -> Browser:
        try:
            with _FIRST:
                mine = self.config
                return _browser(mine.browser, mine.width, mine.height, mine.step_s, mine.chromium_sandbox)
        except ImportError:
            raise MissingExtraError(f"The environment {self.meta.name!r}", "gui") from None

    def _page_at_hand(self) -> BrowserPage:
        if self._page is None:
            self._page = self._browser.take()
            self._release = weakref.finalize(self, self._browser.let_go, self._page)
        return self._page

    def _let_go_if_spent(self) -> None:
        """Return a page whose browser has closed, or that has reached its maximum number of leases."""
        if self._page is not None and not self._browser.has(self._page):
            self._lose_page()
        elif self._page is not None and self._browser.is_worn(self._page):
            self.close()

    def _lose_page(self) -> None:
        if self._page is not None:
            self._release.detach()
            self._browser.give_back(self._page, is_well=False)
            self._page = None

    async def _begin(self, page: BrowserPage, opening: Opening, seed: int) -> None:
        problem = await page.begin(opening.sites, opening.url, seed, opening.script)
        if problem is not None:
            raise SandboxFailure(f"{opening.url} could not be opened: {problem}")
        self.acted = None
        for _ in range(_MOST_WAITS):
            added, _ = await asyncio.gather(self.prepare(page), self._look(page))
            if added is not None:
                self._goal = f"{self._goal}{added}"
                return
            await page.tab.advance()
        raise SandboxFailure(f"{opening.url} does not become ready")

    async def _step(self, page: BrowserPage, call: GuiCall) -> tuple[GuiVerdict | None, str]:
        from cairn.envs.gui.acting import ActionRefused, carry_out

        assert self.view is not None
        error, message = "", None
        self.acted = _acted_on(self.view, call)
        try:
            if call.name == "send_msg_to_user":
                message = str(call.arguments["text"])
            else:
                await carry_out(page, self.view, call)
        except ActionRefused as refused:
            error = str(refused)
        if message is None:
            await page.settle(self.turn_ms)
        verdict, _ = await asyncio.gather(self.judge(page, message), self._look(page))
        return verdict, error

    async def _look(self, page: BrowserPage) -> None:
        from cairn.envs.gui.accessibility import look
        from cairn.envs.gui.picture import screenshot

        self.view = await look(page.tab, everything=self.everything)
        self._others = tuple([await look(tab) for tab in page.tabs if tab is not page.tab])
        self._history = tuple([json.dumps(await tab.history()) for tab in page.tabs]) if self.config.history else ()
        if self.config.image:
            self._image = await screenshot(page.tab, self.view if self.config.marks else None)

    def _observation_text(self, error: str) -> str:
        assert self.view is not None
        assert self._page is not None
        from cairn.envs.gui.render_text import quoted, tell

        lines = [f"Error: {error}"] if error else []
        notices = self._page.notices
        lines += [f"Noticed: {quoted(notice)}" for notice in notices[self._num_shown_notices :]]
        self._num_shown_notices = len(notices)
        if self._others:
            lines += [
                f"Tab {index}: {quoted(tab.driven.url)}{' (in front)' if index == self._page.active else ''}"
                for index, tab in enumerate(self._page.tabs)
            ]
        lines.append(f"Page {quoted(self.view.title)} at {quoted(self.view.url)}")
        return "\n".join((*lines, tell(self.view, self.config.token_budget)))

    def _info(self) -> dict[str, Any]:
        info = super()._info()
        return {**info, "image": self._image, "acted": self.acted} if self.config.image else info


def _free_lock() -> None:
    """In a fork, replace a lock that a thread of the parent may hold."""
    global _FIRST
    _FIRST = threading.Lock()


os.register_at_fork(after_in_child=_free_lock)


def close_browsers() -> None:
    """Close this process's shared browsers; the next reset of an environment starts them again."""
    for browser in _SHARED:
        browser.close()


@cache
def _browser(path: str | None, width: int, height: int, step_s: float, has_sandbox: bool | None) -> Browser:
    """Return the browser that environments with this page configuration share in this process.

    Raises:
        ImportError: Playwright is not installed.
        MissingProgramError: Chromium was not found.
    """
    from cairn.sandboxes.browser.browser import Browser, BrowserConfig

    size = {"width": width, "height": height}
    _SHARED.append(Browser(BrowserConfig(path=path, **size, step_s=step_s, chromium_sandbox=has_sandbox)))
    return _SHARED[-1]


def _acted_on(view: View, call: GuiCall) -> Box | None:
    """Return the box of a call's element, of the dragged element, or one around its point."""
    given = call.arguments
    at = view.place(given.get("bid", given.get("from_bid", "")))
    if at is not None:
        return view.nodes[at].box
    x, y = given.get("x", given.get("from_x")), given.get("y", given.get("from_y"))
    if x is None or y is None:
        return None
    return round(x) - _POINT_PX, round(y) - _POINT_PX, 2 * _POINT_PX, 2 * _POINT_PX


def _canonical(view: View) -> list[object]:
    """Return a page's content without element numbers, positions, and volatile parts."""
    nodes: list[tuple[object, ...]] = []
    places = {-1: -1}  # index in the view -> index among the remaining nodes
    for at, node in enumerate(view.nodes):
        if node.parent in places and not node.is_volatile:
            places[at] = len(nodes)
            nodes.append((places[node.parent], node.role, node.name, node.value, node.states, node.options))
    return [_lasting(view.url, view.volatile), view.title, nodes, view.left, view.scroll, view.held]


def _lasting(url: str, volatile: Collection[str]) -> str:
    """Return an address without these parameters."""
    parts = urlsplit(url)
    kept = [each for each in parts.query.split("&") if unquote_plus(each.partition("=")[0]) not in volatile]
    return parts._replace(query="&".join(kept)).geturl() if volatile else url
