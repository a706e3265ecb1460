"""One episode of a MiniWoB++ page: its start and its reward.

The page's own clock is disabled: its time limit is out of reach, and rewards are without its discount for time.
Elements that are not part of the task are hidden: the cover between episodes, the reward display, and the instruction,
which the goal contains. An instruction that is more than words (a colour, for example) stays visible.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cairn.core.errors import SandboxFailure

if TYPE_CHECKING:
    from cairn.sandboxes.browser.page import BrowserPage
    from cairn.sandboxes.browser.tab import Tab

TURN_MS = 1000  # page time per turn: a page of ten seconds has ten turns
_OUT_OF_REACH_MS = 1e6
_HUSH = """
#reward-display, #click-canvas, #sync-task-cover, #query-wrap { display: none !important }
.cairn-said { visibility: hidden !important }
"""
_START = """
  Math.seedrandom(SEED);
  core.EPISODE_MAX_TIME = LIMIT;
  core.startEpisodeReal();
  document.head.appendChild(document.createElement("style")).textContent = HUSH;
  const query = document.getElementById("query");
  const says = (part) => part.textContent.trim() || part.tagName === "BR";
  const isOnlyWords = Array.from(query.querySelectorAll("*")).every(says);
  if (isOnlyWords) query.classList.add("cairn-said");
  core.hasBegun = true;
"""
_GOAL = "(said => typeof said === 'string' ? said : said.utterance)(core.getUtterance())"
_IS_READY = "typeof core !== 'undefined' && core.hasBegun && WOB_TASK_READY"
_OUTCOME = "typeof core !== 'undefined' && core.hasBegun ? [WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL] : null"


def start(seed: int) -> str:
    """Return the script that starts the episode of a loaded page."""
    script = _START.replace("SEED", json.dumps(str(seed))).replace("LIMIT", str(_OUT_OF_REACH_MS))
    return script.replace("HUSH", json.dumps(_HUSH))


async def begun(page: BrowserPage) -> str | None:
    """Return the page's instruction; None: the page is not ready yet."""
    found = await _evaluate(page.tab, f"{_IS_READY} ? {_GOAL} : null")
    return None if found is None else str(found)


async def outcome(page: BrowserPage) -> float | None:
    """Return the reward: -1 if the page was left, None if it has not given one yet."""
    found = await _evaluate(page.tabs[0], _OUTCOME)
    if found is None:
        return -1.0
    terminated, reward = found
    if not terminated:
        return None
    return -1.0 if reward is None else min(max(float(reward), -1.0), 1.0)  # None: the reward was not a number


async def _evaluate(tab: Tab, expression: str) -> Any:  # Any: JSON
    """Return the value of an expression in the page's own script context.

    Raises:
        SandboxFailure: the expression raised an error.
    """
    answer = await tab.send("Runtime.evaluate", expression=expression, returnByValue=True)
    if "exceptionDetails" in answer:
        description = answer["exceptionDetails"].get("exception", {}).get("description", "without a word")
        raise SandboxFailure(f"A page of MiniWoB++ failed: {description:.300}")
    return answer["result"].get("value")
