"""Sets blocks one below another."""

from textpage.blocks import blocks
from textpage.inline import plain
from textpage.numbering import Numbering
from textpage.wrapping import hang, wrap

_UNDERLINES = {1: "=", 2: "-"}
_NARROWEST = 10


def render(text, width=40):
    """Return a text as a page of lines."""
    if width < _NARROWEST:
        raise ValueError(f"a page is at least {_NARROWEST} wide, got {width}")
    targets = []
    numbering = Numbering()
    page = []
    before = None
    for block in blocks(text):
        if before is not None and not (before == "item" and block[0] == "item"):
            page.append("")
        if block[0] != "item":
            numbering.interrupt()
        page.extend(_lines(block, width, targets, numbering))
        before = block[0]
    if targets:
        page.append("")
        page.extend(f"[{number}] {target}" for number, target in enumerate(targets, start=1))
    return "\n".join(page)


def _lines(block, width, targets, numbering):
    kind = block[0]
    if kind == "code":
        return ["    " + line if line else "" for line in block[1]]
    text = plain(block[-1], targets)
    if kind == "heading":
        return _heading(block[1], text, width)
    if kind == "item":
        first = "  " * block[1] + numbering.mark(block[1], block[2]) + " "
        return hang(text, width, first, " " * len(first))
    if kind == "quote":
        return hang(text, width, "| ", "| ")
    return wrap(text, width)


def _heading(level, text, width):
    if level == 1:
        text = text.upper()
    if level not in _UNDERLINES:
        return wrap("* " + text, width)
    lines = wrap(text, width)
    longest = max((len(line) for line in lines), default=0)
    return [*lines, _UNDERLINES[level] * longest]
