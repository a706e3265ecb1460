"""Untrusted text for display: shortened in the middle, with control characters as codes."""

from __future__ import annotations


def shorten(text: str, most_chars: int) -> str:
    """Return a text; if it is too long, a note of the omitted length replaces its middle."""
    if len(text) <= most_chars:
        return text
    half = most_chars // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def printable(text: str) -> str:
    """Return the text with control characters other than line breaks shown as codes."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
