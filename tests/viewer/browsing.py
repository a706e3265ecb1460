"""A served viewer and a real browser, for tests: they see the pages of a person."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, Dialog, Page, sync_playwright

from cairn.core.errors import MissingProgramError
from cairn.core.server_socket import listen
from cairn.sandboxes.browser.find import find_browser
from cairn.viewer.app import make_app
from cairn.viewer.catalog import find_runs


@contextmanager
def served(paths: Sequence[Path], token: str | None = None) -> Iterator[str]:
    """Serve these runs on a free port of loopback; give the address, without a slash at its end."""
    with listen("127.0.0.1", 0) as listening:
        app = make_app(find_runs(paths), token=token)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Give a browser; skip the test if there is no browser."""
    try:
        path = find_browser()
    except MissingProgramError as error:
        pytest.skip(str(error))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page of the browser, with its errors and forbidden requests."""

    def __init__(self, browser: Browser, origin: str, **options: object) -> None:
        """Open a page that notes dialogs, errors, and requests to elsewhere."""
        self.faults: list[str] = []
        self.page: Page = browser.new_context(**options).new_page()  # type: ignore[arg-type]  # Playwright's options
        self.page.set_default_timeout(60_000)
        self.page.on("dialog", self._dialog)
        self.page.on("pageerror", lambda error: self._note(True, f"error {error}"))
        self.page.on("console", lambda said: self._note(said.type in ("error", "warning"), said.text))
        self.page.on("request", lambda asked: self._note(not asked.url.startswith(origin), asked.url))
        self.page.on("popup", lambda opened: self._note(True, f"popup {opened.url}"))

    def _dialog(self, dialog: Dialog) -> None:
        self._note(True, f"dialog {dialog.message}")
        dialog.dismiss()

    def _note(self, is_fault: bool, what: str) -> None:
        if is_fault:
            self.faults.append(what)

    def close(self) -> None:
        """Close it with its context."""
        self.page.context.close()
