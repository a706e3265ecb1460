"""Text of others, made safe to show in a terminal or a picture."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return the text with control characters other than line breaks shown as codes."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
