"""MiniWoB++: small pages with one task on each, judged by the pages themselves.

A task is a page and a seed. A turn is a second of the page's time, and a page has as many turns as seconds. The score
is the page's reward, without its discount for time. The highest reward is success; on pages that reward closeness,
nearly the highest is enough.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from cairn.envs.base import EnvConfig, EnvMeta, Outcome
from cairn.envs.gui.actions import GuiActionError, GuiCall, parse, written
from cairn.envs.gui.browsing import GuiConfig, GuiEnv, GuiVerdict, Opening
from cairn.envs.gui.miniwob.episode import TURN_MS, begun, outcome, start
from cairn.envs.gui.miniwob.pages import HOST, folder, pages, seconds, site
from cairn.envs.gui.miniwob.secrets import SECRETIVE
from cairn.envs.gui.miniwob.sight import Sight
from cairn.envs.gui.miniwob.solvers import solve

if TYPE_CHECKING:
    from cairn.envs.gui.accessibility import View
    from cairn.sandboxes.browser.page import BrowserPage

Split = Literal["train", "valid", "test"]
_SEEDS: dict[Split, range] = {"train": range(100), "valid": range(100, 120), "test": range(120, 140)}
# Pages that reward closeness: the full reward would need a point between two pixels.
_CLOSE_ENOUGH = {
    "bisect-angle": 0.9,
    "circle-center": 0.9,
    "chase-circle": 0.9,
    "find-midpoint": 0.9,
    "right-angle": 0.9,
    "use-colorwheel": 0.9,
    "use-colorwheel-2": 0.9,
}
_ROUNDING = 1e-9  # on pages that add tenths


class MiniwobConfig(GuiConfig):
    """Configuration of MiniWoB++: the tasks to play."""

    width: int = Field(160, ge=100, le=4096, description="Of the window, in pixels.")
    height: int = Field(210, ge=100, le=4096, description="Of the window, in pixels.")
    split: Split = Field("train", description="Which seeds of each page tasks() lists.")
    pages: tuple[str, ...] = Field((), description="Only tasks on these pages; none: all pages.")


class MiniwobEnv(GuiEnv):
    """Solve the task of a small page."""

    meta = EnvMeta(
        name="gui/miniwob",
        version=3,
        turn_limit=60,
        reward_range=(-1.0, 1.0),
        summary="MiniWoB++: small pages in a real browser, each with one thing to do.",
        is_deterministic=True,
        has_terminal_reward=True,
        oracles=("solver",),
        oracle_success=0.8,
        is_blocking=True,
        parts=("page",),
    )
    Config: ClassVar[type[EnvConfig]] = MiniwobConfig
    config: MiniwobConfig
    without = ("goto", "go_back", "go_forward", "new_tab", "tab_close", "tab_focus", "send_msg_to_user")
    everything = True
    turn_ms = TURN_MS

    def setup(self) -> None:
        """Check that the pages are installed.

        Raises:
            MissingExtraError: `miniwob` or Playwright is not installed.
        """
        folder()
        super().setup()

    def tasks(self) -> Sequence[str]:
        """Return the split's tasks, ``page/seed``."""
        return _ids(self.config.split, self.config.pages)

    def has_task(self, task_id: str) -> bool:
        """Return whether the page exists and the seed is a number."""
        page, _, seed = task_id.rpartition("/")
        return page in pages() and seed.isascii() and seed.isdigit() and str(int(seed[:9])) == seed

    def task_type(self, task_id: str) -> str:
        """Return the page's name."""
        return task_id.rpartition("/")[0]

    def difficulty(self, task_id: str) -> str:
        """Return the page's duration in seconds, as two digits."""
        return f"{seconds(self.task_type(task_id)):02d}"

    def open(self, task_id: str, rng: random.Random) -> Opening:
        """Go to the page; it has as many turns as seconds."""
        self._name, _, seed = task_id.rpartition("/")
        self._calls, self._asked, self._past = list[str](), "", list["View"]()
        self.turn_limit = self.config.turn_limit or seconds(self._name)
        url = f"http://{HOST}/{pages()[self._name]}"
        return Opening(goal="", url=url, sites={HOST: site}, script=start(int(seed)))

    async def prepare(self, page: BrowserPage) -> str | None:
        """Return the page's instruction as the goal, once its episode has begun."""
        if (found := await begun(page)) is None:
            return None
        self._asked = found
        return self._asked

    def act(self, action: str) -> Outcome:
        """Execute a call and record it."""
        call = parse(action, self._functions)
        if not isinstance(call, GuiActionError) and self.view is not None:
            self._past.append(self.view)
            self._calls.append(written(call))
        return super().act(action)

    async def judge(self, page: BrowserPage, message: str | None) -> GuiVerdict | None:
        """Return the page's reward as the result."""
        reward = await outcome(page)
        if reward is None:
            return None
        success = reward >= _CLOSE_ENOUGH.get(self._name, 1.0) - _ROUNDING
        text = f"The task is over. Its reward is {reward:g}."
        return GuiVerdict(score=reward, success=success, text=text, parts={"page": reward})

    def hidden(self) -> bytes:
        """Return all earlier calls, on pages with invisible state."""
        parts = self._calls if self._name in SECRETIVE else []
        return "\0".join(parts).encode("utf-8", "backslashreplace")

    def next_call(self, name: str) -> GuiCall:
        """Return the solver's next call; waits on pages without a solver."""
        assert self.view is not None
        return solve(self._name, Sight(self.view, self._asked, tuple(self._calls), tuple(self._past)))


@cache
def _ids(split: Split, chosen: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name}/{seed}" for name in pages() if not chosen or name in chosen for seed in _SEEDS[split])


ENV = MiniwobEnv
