"""Renders a page as text: one indented line per node with content, elements with numbers.

Page content is always in quotation marks, so a page cannot imitate the environment's own lines.

::

    [417] link "Inbox" (selected)
    table "Inbox: 2 mails"
      row
        [80] link "Garden fence"
        "2031-05-04"
    [903] searchbox "Search": "fence"

A list's options have a quarter of the budget. The budget cuts the least useful lines first: texts out of sight, the
farthest first, then long texts in sight, then elements out of sight, then the rest in sight, the last first. The last
line counts the lines that were left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate

from cairn.envs.gui.accessibility import AccessibilityNode, View

CHARS_PER_TOKEN = 4  # an estimate, since environments have no tokenizer
_STRUCTURE = {
    "alert", "alertdialog", "article", "cell", "columnheader", "dialog", "grid", "gridcell", "heading", "img", "image",
    "list", "listitem", "main", "menu", "menubar", "navigation", "radiogroup", "region", "row", "rowheader", "status",
    "tab", "table", "tablist", "tabpanel", "tree", "form", "group", "search", "figure", "progressbar", "meter", "math",
}  # fmt: skip
_PLAIN = {"list", "main", "form", "row", "cell", "gridcell", "listitem", "navigation", "group", "region", "article"}


def tell(view: View, token_budget: int) -> str:
    """Return a page's lines, and a last one that counts the lines beyond the budget."""
    most = token_budget * CHARS_PER_TOKEN
    kept, num_cut = _within(view, _lines(view, most // 4), most)
    lines = [line for _, line in kept]
    num_cut += view.left
    if num_cut:
        lines.append(f"({num_cut} more lines are left out for length.)")
    return "\n".join(lines)


def quoted(text: str) -> str:
    """Return page content on one line and in quotation marks."""
    return json.dumps(text, ensure_ascii=False)


def _lines(view: View, most_of_options: int) -> list[tuple[AccessibilityNode, str]]:
    """Return nodes with their lines, in order, except nodes without content.

    `most_of_options`: maximum number of characters of a list's options.
    """
    depths: list[int] = []
    found: list[tuple[AccessibilityNode, str]] = []
    for node in view.nodes:
        depth = depths[node.parent] if node.parent >= 0 else 0
        line = _line(view, node, most_of_options)
        depths.append(depth + bool(line))
        if line:
            found.append((node, "  " * min(depth, 12) + line))
    return found


def _line(view: View, node: AccessibilityNode, most_of_options: int) -> str:
    """Return a node's line without content that its ancestors already show; "" for nothing."""
    if node.role == "text":
        return "" if _is_named_after(view, node) else quoted(node.name)
    parts = [f"[{node.bid}]"] if node.bid else []
    is_plain = (
        not node.bid and node.role in _PLAIN and (not node.name or node.role in ("row", "cell", "gridcell", "listitem"))
    )
    if not node.bid and (node.role not in _STRUCTURE or (is_plain and node.role not in ("row", "listitem"))):
        return ""
    parts.append(node.role)
    if node.name and not is_plain:
        parts.append(quoted(node.name))
    line = " ".join(parts)
    if node.value is not None:
        line += f": {quoted(node.value)}"
    if node.options:
        line += f" of {_choices(node.options, most_of_options)}"
    return f"{line} ({', '.join(node.states)})" if node.states else line


def _choices(options: Sequence[str], most: int) -> str:
    """Return a list's first options, up to `most` characters, and the number of the others."""
    texts = [quoted(each) for each in options]
    ends = accumulate(len(each) + len(", ") for each in texts)
    num_shown = sum(end <= most for end in ends)
    more = len(texts) - num_shown
    return ", ".join(texts[:num_shown]) + (f" and {more} more" if more else "")


def _is_named_after(view: View, text: AccessibilityNode) -> bool:
    """Return whether an ancestor's name already contains a text."""
    parent, words = text.parent, " ".join(text.name.split())
    while parent >= 0:
        node = view.nodes[parent]
        is_shown = node.bid or (node.role in _STRUCTURE and node.role not in _PLAIN)
        if is_shown and words in node.name:
            return True
        parent = node.parent
    return False


def _within(
    view: View, lines: list[tuple[AccessibilityNode, str]], most: int
) -> tuple[list[tuple[AccessibilityNode, str]], int]:
    """Return the lines that fit into `most` characters, in order, and the number of the others."""
    if sum(len(line) + 1 for _, line in lines) <= most:
        return lines, 0
    order = sorted(range(len(lines)), key=lambda at: _use(view, lines[at], at))
    kept: set[int] = set()
    room = most
    for at in order:
        needs = len(lines[at][1]) + 1
        if needs <= room:
            kept.add(at)
            room -= needs
    return [lines[at] for at in sorted(kept)], len(lines) - len(kept)


def _use(view: View, line: tuple[AccessibilityNode, str], at: int) -> tuple[int, int]:
    """Return a line's rank of usefulness, the most useful first."""
    node, text = line
    if view.is_in_sight(node):
        return (0 if node.bid or len(text) < 200 else 2), at
    _, y, _, height = node.box
    away = max(-(y + height), y - view.size[1], 0)
    return (1 if node.bid else 3), away
