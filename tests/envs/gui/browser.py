"""A real Chromium before the applications: they are served on loopback, and one page shows one world after another.

Elements are found by role and exact accessible name among those that can be seen, and there must be just one.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from playwright.sync_api import Locator, Page, sync_playwright

from cairn.core.errors import MissingProgramError
from cairn.envs.gui.apps import deeds, sites
from cairn.envs.gui.site import site
from cairn.envs.gui.ui_actions import Deed
from cairn.envs.office.task import OfficeTask
from cairn.envs.office.validator import Verdict, judge
from cairn.envs.office.world import World
from cairn.sandboxes.browser.find import find_browser

try:
    CHROMIUM: str | None = find_browser()
except MissingProgramError:
    CHROMIUM = None
_ONE_RENDERER = ("--disable-site-isolation-trials", "--process-per-site", "--renderer-process-limit=1", "--disable-gpu")
_TIMEOUT_MS = 20_000  # for a busy machine; nothing waits for it to pass


class Player:
    """A browser's page, and the world that it shows; one after another, since pages keep nothing."""

    def __init__(self, page: Page, shown: list[World]) -> None:
        self.page, self._shown = page, shown

    def show(self, world: World) -> None:
        """Show another world from now on."""
        self._shown[:] = [world]

    def play(self, task: OfficeTask) -> tuple[Verdict, World]:
        """Look, and carry out a task's steps, on the pages in a copy of its world; judge the final world."""
        self.show(world := task.world.copy())
        for step in (*task.looks, *task.steps):
            for deed in deeds(world, step):
                do(self.page, deed)
            problem = self.page.get_by_role("alert")
            assert problem.count() == 0, f"{step}: {problem.first.inner_text()}"
        return judge(task.world, world, task, task.answer), world


def do(page: Page, deed: Deed) -> None:
    """Carry out one deed."""
    if deed.verb == "goto":
        page.goto(deed.text)
    elif deed.verb == "click":
        find(page, deed).click()
    elif deed.verb == "fill":
        find(page, deed).fill(deed.text)
    elif deed.verb == "select":
        find(page, deed).select_option(label=deed.text)
    elif deed.verb == "check":
        find(page, deed).check()
    else:
        find(page, deed).press(deed.text)
    page.wait_for_load_state("load")


def find(page: Page, deed: Deed) -> Locator:
    """Return the element of a deed; Playwright refuses to act on one of several."""
    return page.locator(f"role={deed.role}[name={json.dumps(deed.name, ensure_ascii=False)}s]")


@contextmanager
def player() -> Iterator[Player]:
    """Serve the applications, and start a browser that finds every host there."""
    shown: list[World] = []
    server = uvicorn.Server(
        uvicorn.Config(site(sites(), lambda request: shown[0]), host="127.0.0.1", port=0, log_level="error")
    )
    socket = server.config.bind_socket()
    thread = threading.Thread(target=server.run, args=([socket],), daemon=True)
    thread.start()
    try:
        with sync_playwright() as playwright:
            rules = f"--host-resolver-rules=MAP * 127.0.0.1:{socket.getsockname()[1]}"
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[rules, *_ONE_RENDERER])
            try:
                page = browser.new_page(locale="en-GB")
                page.set_default_timeout(_TIMEOUT_MS)
                yield Player(page, shown)
            finally:
                browser.close()
    finally:
        server.should_exit = True
        thread.join(10)
        socket.close()
