"""Reads one file: its entries, and what it includes."""

import re

from settings_files.errors import DuplicateFault, SyntaxFault
from settings_files.values import value, without_comment

_SECTION = re.compile(r"\[(\w+(?:\.\w+)*)\]")
_INCLUDE = re.compile(r"include\s+(\S+)")
_ENTRY = re.compile(r"([\w-]+)\s*=(.*)")


def parse(file, text):
    """Return (entries, includes): (section, key) -> (value, file, line), and [(name, line)]."""
    entries = {}
    includes = []
    section = ""
    for line, raw in enumerate(text.split("\n"), start=1):
        content = without_comment(raw).strip()
        if not content:
            continue
        if match := _SECTION.fullmatch(content):
            section = match.group(1)
        elif match := _INCLUDE.fullmatch(content):
            includes.append((match.group(1), line))
        elif match := _ENTRY.fullmatch(content):
            key = (section, match.group(1))
            if key in entries:
                raise DuplicateFault(file, line)
            try:
                entries[key] = (value(match.group(2)), file, line)
            except ValueError:
                raise SyntaxFault(file, line) from None
        else:
            raise SyntaxFault(file, line)
    return entries, includes
