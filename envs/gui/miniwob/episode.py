"""One episode of a MiniWoB++ page: how it begins, what it gave, and what of it no accessibility tree shows.

The page's own clock is set aside: its time limit is out of reach, and rewards are those without its discount for time.
What is not part of the task does not show: the cover between episodes, the reward display, and the instruction, which
the goal has. An instruction that is more than words (a colour, say) stays.
"""

from __future__ import annotations

import json
from typing import Any

from cairn.core.errors import SandboxFailure
from cairn.sandboxes.page import Page
from cairn.sandboxes.tab import Tab

TURN_MS = 1000  # of a page's time: a page of ten seconds has ten turns
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
_SMALL = """(() => {
  const selection = document.getSelection(), marked = [];
  for (const element of document.querySelectorAll("*")) {
    if (element.scrollTop || element.scrollLeft) marked.push([element.tagName, element.scrollTop, element.scrollLeft]);
    if (element === document.activeElement && element.selectionStart != null)
      marked.push([element.selectionStart, element.selectionEnd]);
  }
  return [selection.anchorOffset, selection.focusOffset, selection.toString(), marked];
})()"""


def start(seed: int) -> str:
    """Return what starts the episode of a page that has loaded."""
    script = _START.replace("SEED", json.dumps(str(seed))).replace("LIMIT", str(_OUT_OF_REACH_MS))
    return script.replace("HUSH", json.dumps(_HUSH))


async def begun(page: Page) -> tuple[str, str] | None:
    """Return what the page asks for, and the small things that `outcome` tells of; None: it is not ready yet."""
    found = await _evaluate(page.tab, f"{_IS_READY} ? [{_GOAL}, {_SMALL}] : null")
    return None if not found else (str(found[0]), json.dumps(found[1]))


async def outcome(page: Page) -> tuple[float | None, str]:
    """Return the reward, -1 when the page was left and None while it has given none, and small things.

    Small things are what is selected, and how far elements are scrolled.
    """
    found, small = await _evaluate(page.tabs[0], f"[{_OUTCOME}, {_SMALL}]")
    if found is None:
        return -1.0, ""
    is_over, reward = found
    if not is_over:
        return None, json.dumps(small)
    return -1.0 if reward is None else min(max(float(reward), -1.0), 1.0), ""  # None: it was no number


async def _evaluate(tab: Tab, expression: str) -> Any:  # Any: JSON
    """Return the value of an expression among the page's own scripts.

    Raises:
        SandboxFailure: it raised.
    """
    answer = await tab.send("Runtime.evaluate", expression=expression, returnByValue=True)
    if "exceptionDetails" in answer:
        told = answer["exceptionDetails"].get("exception", {}).get("description", "without a word")
        raise SandboxFailure(f"A page of MiniWoB++ failed: {told:.300}")
    return answer["result"].get("value")
