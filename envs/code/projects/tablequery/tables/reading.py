"""Reads fields."""

import re

from tables.errors import TableError

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_WORDS = {"": None, "yes": True, "no": False}


def rows(text, separator=","):
    """List the rows as lists of texts."""
    return [[field for field, _ in row] for _, row in numbered(text, separator)]


def numbered(text, separator):
    """List (line at which it begins, row), without empty lines."""
    found = []
    row = []
    line = begin = 1
    place = 0
    while place <= len(text):
        field, is_quoted, end = _field(text, place, separator, line)
        row.append((field, is_quoted))
        line += text.count("\n", place, end)
        if text[end : end + 1] != separator:
            if row != [("", False)]:
                found.append((begin, row))
            row = []
            line += 1
            begin = line
        place = end + 1
    return found


def value(text):
    """Return what an unquoted field means."""
    if text in _WORDS:
        return _WORDS[text]
    match = _NUMBER.fullmatch(text)
    if not match:
        return text
    return float(text) if match.group(1) else int(text)


def _field(text, place, separator, line):
    """Return (field, whether it was quoted, where it ends)."""
    start = place
    while text[start : start + 1] == " ":
        start += 1
    if text[start : start + 1] == '"':
        return _quoted(text, start + 1, separator, line)
    end = place
    while end < len(text) and text[end] not in (separator, "\n"):
        end += 1
    return text[place:end].strip(), False, end


def _quoted(text, place, separator, line):
    field = ""
    while True:
        end = text.find('"', place)
        if end < 0:
            raise TableError("a quote is not closed", line)
        field += text[place:end]
        if text[end + 1 : end + 2] != '"':
            break
        field += '"'
        place = end + 2
    end += 1
    while text[end : end + 1] == " ":
        end += 1
    if end < len(text) and text[end] not in (separator, "\n"):
        raise TableError("something stands after a quoted field", line)
    return field, True, end
