"""Cuts a text into tokens: (kind, text, position)."""

import re

from calc.errors import SyntaxFault

_PATTERNS = (
    ("number", re.compile(r"(\d+\.\d*|\.\d+|\d+)(e[+-]?\d+)?")),
    ("name", re.compile(r"[A-Za-z_][A-Za-z_0-9]*")),
    ("op", re.compile(r"//|[-+*/%^(),=]")),
)


def tokenize(text):
    """List the tokens of a text."""
    tokens = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        token = _token_at(text, position)
        tokens.append(token)
        position += len(token[1])
    return tokens


def number(text):
    """Return the value of a number's text: an int unless it has a point or an exponent."""
    if "." in text or "e" in text:
        return float(text)
    return int(text)


def _token_at(text, position):
    for kind, pattern in _PATTERNS:
        match = pattern.match(text, position)
        if match:
            return (kind, match.group(), position)
    raise SyntaxFault(position)
