"""What the text behind a `=` means."""

import re

_INTEGER = re.compile(r"-?\d+")
_FLOAT = re.compile(r"-?\d+\.\d+")
_WORDS = {"true": True, "false": False, "none": None}


def without_comment(text):
    """Return a line without what follows a `#` after a blank, outside quotes."""
    is_quoted = False
    for place, character in enumerate(text):
        if character == '"':
            is_quoted = not is_quoted
        elif character == "#" and not is_quoted and text[place - 1 : place] in ("", " "):
            return text[:place]
    return text


def value(text):
    """Return a value; ValueError for an empty one or an open quote."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        inner = text[1:-1]
        return [_single(part.strip()) for part in _parts(inner)] if inner.strip() else []
    return _single(text)


def written(item):
    """Return a value as it stands in a text."""
    for word, meaning in _WORDS.items():
        if item is meaning:
            return word
    if isinstance(item, list):
        return ", ".join(written(each) for each in item)
    return str(item)


def _single(text):
    if not text:
        raise ValueError("nothing there")
    if text.startswith('"'):
        if len(text) < 2 or text.find('"', 1) != len(text) - 1:
            raise ValueError("an open quote")
        return text[1:-1]
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _parts(text):
    """Divide a text at commas outside quotes."""
    parts = [""]
    is_quoted = False
    for character in text:
        if character == '"':
            is_quoted = not is_quoted
        if character == "," and not is_quoted:
            parts.append("")
        else:
            parts[-1] += character
    return parts
