"""BrowserGym's MiniWoB++ in a virtual environment of its own, which is made once: it pins another Playwright.

It runs on the Chromium that we run on. Its Playwright would look for one of its own in a folder, and it starts a second
browser for its chat that cannot be told otherwise, so a script that starts ours stands in that folder.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cairn.benchmarks.envs._gui_speed import TURNS
from cairn.core.errors import CairnError
from cairn.envs.webshop.shop import cache_folder
from cairn.sandboxes.browser.find import find_browser

_INSTALL = (("browsergym-miniwob==0.14.3",), ("--no-deps", "miniwob==1.1.0"))  # miniwob: only for its pages
_MADE = "made"  # a file that says that all of it is there
_PLACE = "chromium-1117/chrome-linux/chrome"  # where its Playwright, 1.44.0, has its browser
_PLAYS = Path(__file__).with_name("_plays_browsergym.py")
_MOST_S = 1800


@dataclass(frozen=True, kw_only=True)
class Played:
    """What came of playing one environment for a while."""

    steps: int
    step_s: float
    resets: int
    reset_s: float
    characters: float  # of the accessibility tree as text, mean
    memory_mb: float  # of its Chromium processes, each's own, at most

    @property
    def step_rate(self) -> float:
        """Steps a second, resets not counted."""
        return self.steps / self.step_s

    @property
    def reset_rate(self) -> float:
        """Resets a second."""
        return self.resets / self.reset_s

    @property
    def episode_rate(self) -> float:
        """Episodes a second."""
        return self.resets / (self.step_s + self.reset_s)


def python() -> Path:
    """Return the interpreter of the virtual environment, which is made if it is not there.

    Raises:
        CairnError: it cannot be made; the text says why.
    """
    folder = cache_folder() / "browsergym-0.14.3"
    program = folder / "bin" / "python"
    if not (folder / _MADE).exists():
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        for packages in _INSTALL:
            _run([str(program), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages])
        (folder / _MADE).touch()
    return program


def play(python: Path, pages: Sequence[str], seconds: float, *, hurried: bool = False) -> Played:
    """Play the pages in turn for so long; `hurried`: with its fixed waits set to nothing.

    Raises:
        CairnError: it does not run; the text says why.
    """
    with tempfile.TemporaryDirectory() as folder:
        chrome = Path(folder) / _PLACE
        chrome.parent.mkdir(parents=True)
        chrome.write_text(f'#!/bin/sh\nexec {shlex.quote(find_browser())} "$@"\n')
        chrome.chmod(0o755)
        asked = {"pages": list(pages), "seconds": seconds, "turns": TURNS, "hurried": hurried}
        told = _run([str(python), str(_PLAYS), json.dumps(asked)], PLAYWRIGHT_BROWSERS_PATH=folder)
    return Played(**json.loads(told.splitlines()[-1]))


def _run(command: Sequence[str], **settings: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_MOST_S, check=False, env={**os.environ, **settings}
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["without a word"])[-1]
        raise CairnError(f"BrowserGym: {Path(command[0]).name} ended with {done.returncode}: {last[:200]}")
    return done.stdout
