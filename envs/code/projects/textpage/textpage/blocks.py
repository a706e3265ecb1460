"""Tells the blocks of a text apart."""

import re

_HEADING = re.compile(r"(#{1,3}) (.*)")
_ITEM = re.compile(r"( *)(-|\d+\.) (.*)")
_FENCE = "```"


def blocks(text):
    """List the blocks of a text as tuples."""
    found = []
    is_open = False  # whether the last block goes on with the next plain line
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if line.strip() == _FENCE:
            end = _closing(lines, number)
            found.append(("code", lines[number:end]))
            number = end + 1
            is_open = False
        elif not line.strip():
            is_open = False
        elif match := _HEADING.fullmatch(line):
            found.append(("heading", len(match.group(1)), match.group(2).strip()))
            is_open = False
        elif match := _ITEM.fullmatch(line):
            found.append(("item", len(match.group(1)) // 2, _mark(match.group(2)), match.group(3).strip()))
            is_open = True
        elif line.startswith(">") and not (is_open and found[-1][0] == "item"):
            _go_on(found, "quote", line[1:].strip(), is_open)
            is_open = True
        else:
            kind = "item" if is_open and found[-1][0] == "item" else "paragraph"
            _go_on(found, kind, line.strip(), is_open)
            is_open = True
    return found


def _closing(lines, start):
    for number in range(start, len(lines)):
        if lines[number].strip() == _FENCE:
            return number
    return len(lines)


def _mark(text):
    return text if text == "-" else int(text[:-1])


def _go_on(found, kind, text, is_open):
    """Add a line to the last block if that is open and of this kind, else begin one."""
    if is_open and found[-1][0] == kind:
        last = found[-1]
        found[-1] = (*last[:-1], f"{last[-1]} {text}".strip())
    else:
        found.append((kind, text))
