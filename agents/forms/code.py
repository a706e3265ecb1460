"""A thought and one program in a fenced block, for environments that run programs.

A valid reply is any text, then a block that starts with a line of three or more backticks, optionally with ``python``,
and ends with a line of exactly as many, then only white space. The action is the unchanged text between the two lines.
"""

from __future__ import annotations

import re

from cairn.agents.forms.base import FormConfig, Parsed, ReplyForm, invalid
from cairn.core.plugins import Plugin

_OPENS = re.compile(r"(`{3,})([^`]*)")
_LANGUAGES = ("", "python", "py")


def parse(reply: str) -> Parsed:
    """Return the program of a reply."""
    lines = reply.split("\n")
    first, opened = next(((i, m) for i, line in enumerate(lines) if (m := _OPENS.fullmatch(line))), (0, None))
    if opened is None:
        return invalid("it holds no program. Write one block that begins with a line ```python and ends with ```")
    if opened[2].strip().lower() not in _LANGUAGES:
        return invalid(f"its block is {opened[2].strip()[:20]!r}; write a program in a block ```python")
    end = next((i for i in range(first + 1, len(lines)) if lines[i].rstrip() == opened[1]), None)
    if end is None:
        return invalid("its block has no end. Close it with a line ```")
    if any(_OPENS.fullmatch(line) for line in lines[end + 1 :]):
        return invalid("it holds more than one block, and exactly one program is run at a turn")
    if "".join(lines[end + 1 :]).strip():
        return invalid("text follows its block. End the reply after the program: its output is shown to you then")
    program = "\n".join(lines[first + 1 : end])
    return Parsed(action=program, is_valid=True) if program.strip() else invalid("its program is empty")


def write(action: str) -> str:
    """Return a reply with a program; its fence is longer than any run of backticks in it."""
    longest = max((len(row) for row in re.findall("`+", action)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}python\n{action}\n{fence}"


FORM = Plugin(FormConfig, lambda _: ReplyForm(parse=parse, write=write, is_strict=True))
