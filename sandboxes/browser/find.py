"""Finds a Chromium; starts none, and works without Playwright."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from cairn.core.errors import ConfigError, MissingProgramError

# The headless shell first: it is Chromium without a window, and needs less CPU time per page.
_OWN = ("chromium_headless_shell-*/*/*headless*shell", "chromium-*/chrome-linux*/chrome")
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_browser(path: str | None = None) -> str:
    """Return the path of the browser: the given one, Playwright's own, or one on the PATH.

    Raises:
        ConfigError: the given path is not executable.
        MissingProgramError: no browser was found; the text has the command that installs one.
    """
    if path is not None:
        if not os.access(path, os.X_OK):
            raise ConfigError(f"browser: {path!r} is not a program")
        return path
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", Path.home() / ".cache" / "ms-playwright"))
    own = (str(found) for pattern in _OWN for found in sorted(folder.glob(pattern), reverse=True))
    there = next((name for name in (*own, *map(shutil.which, _NAMES)) if name), None)
    if there is None:
        raise MissingProgramError(
            "There is no Chromium: apt-get install chromium-headless-shell, or playwright install chromium, or name "
            "one in the setting `browser`",
            command="apt-get install chromium-headless-shell",
        )
    return there
