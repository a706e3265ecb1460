"""Solvers of pages with games, orders and consoles."""

from __future__ import annotations

import re

from cairn.envs.gui.accessibility import AccessibilityNode
from cairn.envs.gui.actions import GuiCall
from cairn.envs.gui.miniwob.sight import Sight, Solvers, click, press

_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
_BEST_FIRST = (4, 0, 2, 6, 8, 1, 3, 5, 7)


def _noughts_and_crosses(sight: Sight) -> GuiCall:
    """Win at once, else block the opponent's win, else take the best free field."""
    fields = sight.all(look="span")
    marks = ["X" if "span.mark-x" in f.states else "O" if "span.mark-o" in f.states else "" for f in fields]
    for mine in ("X", "O"):
        for line in _LINES:
            held = [marks[at] for at in line]
            if held.count(mine) == 2 and "" in held:
                return click(fields[line[held.index("")]])
    return click(fields[next(at for at in _BEST_FIRST if not marks[at])])


def _order(sight: Sight) -> GuiCall:
    if found := re.fullmatch(r"Order (\d+) items that are (.*)", sight.goal):
        wanted = {_items(sight, kind=found[2])[0][0]: int(found[1])}
    else:
        names = sight.match(r"each item: (.*)$")[0].split(", ")
        wanted = dict.fromkeys((name.strip() for name in names), 1)
    for name, held, add in _items(sight):
        if held < wanted.get(name, 0):
            return click(add)
    return click(sight.one("button", "Order!"))


def _items(sight: Sight, kind: str = "") -> list[tuple[str, int, AccessibilityNode]]:
    """Return the menu's items, of one kind or all: name, ordered number, button to add one."""
    found, name, held, kinds = [], "", 0, set[str]()
    for node in sight.things:
        text = sight.text_of(node)
        if "div.item-name" in node.states:
            name, kinds = text.strip(), set()
        elif node.role == "image":
            kinds.add(node.name)
        elif "span.quantity" in node.states:
            held = int(text or 0)
        elif "span.add" in node.states and (not kind or kind in kinds):
            found.append((name, held, node))
    return found


def _console(sight: Sight) -> GuiCall:
    """List the files, then remove one with the extension, one key per turn.

    The time suffices only for a short name.
    """
    field = sight.one("textbox")
    typed = [call for call in sight.done if call.startswith("press")]
    keys = "ls\n"
    if len(typed) >= len(keys):
        keys += f"rm {_doomed(sight)}\n"
    key = keys[len(typed)]
    return press(field, {"\n": "Enter", " ": "Space"}.get(key, key))


def _doomed(sight: Sight) -> str:
    shown = next(text for node in sight.all(look="span.output")[2:] if (text := sight.text_of(node)))
    ending = re.search(r"the extension \.(\S+)", sight.goal)
    files = [name for name in shown.split() if (name.endswith(f".{ending[1]}") if ending else "." not in name)]
    return min(files, key=len)


SOLVERS: Solvers = {
    "tic-tac-toe": _noughts_and_crosses,
    "order-food": _order,
    "terminal": _console,
}
