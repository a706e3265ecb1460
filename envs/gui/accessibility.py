"""Reads a page's accessibility tree from Chromium, and numbers the elements for actions.

Roles and names are Chromium's own (ARIA), with values, states and positions. An element's number depends only on its
role, its name and the number of such elements before it. So it stays the same while the page changes around it, and
equal pages have equal numbers in any browser.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cairn.core.keys import text_key

if TYPE_CHECKING:
    from cairn.sandboxes.browser.tab import Tab

_MOST_NODES = 20_000
_RANGES = (1_000, 10_000, 100_000, 1_000_000_000)  # of numbers; the next range if a number is taken


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessibilityNode:
    """A visible element or text."""

    parent: int  # index of the parent node; -1: no parent
    role: str  # ARIA's, "text" for texts, "generic" for elements without one
    name: str  # accessible name; of a text, the text itself
    value: str | None  # of a field; None: no value
    states: tuple[str, ...]
    box: tuple[int, int, int, int]  # x, y, width, height in pixels of the window
    options: tuple[str, ...]  # of a select element
    bid: str  # element number; "" if no action is possible
    is_volatile: bool = False  # the document declares that no future depends on it, e.g. a displayed time


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A document as displayed."""

    title: str
    url: str
    nodes: tuple[AccessibilityNode, ...]  # parents before children, in the document's order
    left: int  # number of nodes beyond the limit, which were not read
    scroll: tuple[int, int]  # pixels right and down
    size: tuple[int, int]  # of the window, in pixels
    height: int  # of the document, in pixels
    held: str  # hash of invisible state: exact texts, carets, selections, inner scroll positions
    volatile: tuple[str, ...] = ()  # address parameters on which no future depends, as the document declares

    def place(self, bid: str) -> int | None:
        """Return an element's index among the nodes; None if it is missing."""
        return next((at for at, node in enumerate(self.nodes) if node.bid == bid), None) if bid else None

    def is_in_sight(self, node: AccessibilityNode) -> bool:
        """Return whether part of a node is in the window."""
        x, y, width, height = node.box
        return x < self.size[0] and y < self.size[1] and x + width > 0 and y + height > 0


@cache
def reader() -> str:
    """Return the script that reads documents."""
    return Path(__file__).with_name("reader.js").read_text()


async def look(tab: Tab, *, everything: bool = False) -> View:
    """Read the document of a tab.

    With `everything`, leaf elements without a role get numbers too.
    """
    found = await tab.call(reader(), f"cairn.look({json.dumps(everything)}, {_MOST_NODES})")
    rows = found["rows"]
    bids = _numbers([(row[1], row[2]) if row[5] else None for row in rows])
    nodes = tuple(_node(row, bid) for row, bid in zip(rows, bids, strict=True))
    return View(
        title=found["title"],
        url=tab.driven.url,
        nodes=nodes,
        left=found["left"],
        scroll=tuple(found["scroll"]),
        size=tuple(found["size"]),
        height=found["height"],
        held=found["held"],
        volatile=tuple(found["volatile"]),
    )


def _node(row: Sequence[Any], bid: str) -> AccessibilityNode:  # Any: JSON, as returned by reader.js
    parent, role, name, value, states, _, box, options, is_volatile = row
    return AccessibilityNode(
        parent=parent,
        role=role,
        name=name,
        value=value,
        states=tuple(states),
        box=tuple(box),
        options=tuple(options or ()),
        bid=bid,
        is_volatile=is_volatile,
    )


@lru_cache(100_000)
def _code(role: str, name: str, count: int) -> int:
    return text_key(json.dumps((role, name, count)))


def _numbers(keys: Sequence[tuple[str, str] | None]) -> list[str]:
    """Return a unique number for each key, "" for None."""
    seen: Counter[tuple[str, str]] = Counter()
    taken: set[int] = set()
    numbers = []
    for key in keys:
        if key is None:
            numbers.append("")
            continue
        seen[key] += 1
        code = _code(*key, seen[key])
        number = next(n for size in _RANGES if (n := code % size) not in taken)
        taken.add(number)
        numbers.append(str(number))
    return numbers
