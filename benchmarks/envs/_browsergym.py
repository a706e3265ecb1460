"""BrowserGym's MiniWoB++ in a separate virtual environment, as it pins another Playwright.

The virtual environment is created once. BrowserGym uses the same Chromium as our environments. Its Playwright expects
its own browser in a folder, and the second browser for its chat cannot be configured, so a script in that folder starts
our Chromium.
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
_MADE = "made"  # a file that marks a complete installation
_PLACE = "chromium-1117/chrome-linux/chrome"  # location of the browser of its Playwright, 1.44.0
_PLAYS = Path(__file__).with_name("_plays_browsergym.py")
_MOST_S = 1800


@dataclass(frozen=True, kw_only=True)
class Played:
    """The measurements of playing for a while."""

    steps: int
    step_s: float
    resets: int
    reset_s: float
    characters: float  # of the accessibility tree as text, mean
    memory_mb: float  # peak private memory of its Chromium processes

    @property
    def step_rate(self) -> float:
        """Steps per second, without resets."""
        return self.steps / self.step_s

    @property
    def reset_rate(self) -> float:
        """Resets per second."""
        return self.resets / self.reset_s

    @property
    def episode_rate(self) -> float:
        """Episodes per second."""
        return self.resets / (self.step_s + self.reset_s)


def python() -> Path:
    """Return the interpreter of the virtual environment, which is created if it does not exist.

    Raises:
        CairnError: it cannot be created; the message has the reason.
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
    """Play the pages in turn for `seconds`; `hurried`: without BrowserGym's fixed waits.

    Raises:
        CairnError: it does not run; the message has the reason.
    """
    with tempfile.TemporaryDirectory() as folder:
        chrome = Path(folder) / _PLACE
        chrome.parent.mkdir(parents=True)
        chrome.write_text(f'#!/bin/sh\nexec {shlex.quote(find_browser())} "$@"\n')
        chrome.chmod(0o755)
        asked = {"pages": list(pages), "seconds": seconds, "turns": TURNS, "hurried": hurried}
        output = _run([str(python), str(_PLAYS), json.dumps(asked)], PLAYWRIGHT_BROWSERS_PATH=folder)
    return Played(**json.loads(output.splitlines()[-1]))


def _run(command: Sequence[str], **settings: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_MOST_S, check=False, env={**os.environ, **settings}
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["without a word"])[-1]
        raise CairnError(f"BrowserGym: {Path(command[0]).name} ended with {done.returncode}: {last[:200]}")
    return done.stdout
