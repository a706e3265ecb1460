"""Shows a long text by its two ends."""

from __future__ import annotations


def shorten(text: str, most_chars: int) -> str:
    """Return a text with its middle left out where it is too long, and how much that is."""
    if len(text) <= most_chars:
        return text
    half = most_chars // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
