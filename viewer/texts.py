"""Untrusted texts prepared for a page: cut to a limit, without control characters.

This module does not escape: templates always do. Numbers are formatted with suitable precision.
"""

from __future__ import annotations

import math
import re
import textwrap
from dataclasses import dataclass

LIMIT = 4000  # characters of one text on a page; the whole text is linked
NOT_IN_HTML = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The shown beginning of a text."""

    text: str
    left: int  # characters that are not shown


def cut(text: str, limit: int = LIMIT) -> Cut:
    """Return the first `limit` characters, and the number of remaining ones."""
    return Cut(text=text[:limit], left=max(len(text) - limit, 0))


def clean(text: str) -> str:
    """Return the text with characters replaced that browsers hide or misrender."""
    return NOT_IN_HTML.sub("\ufffd", text)


def short(text: str, limit: int = 80) -> str:
    """Return the text on one line, shortened with an ellipsis to `limit` characters."""
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit and len(text) <= 4 * limit else f"{line[: limit - 1]}\u2026"


def lines(text: str, width: int, most: int) -> list[str]:
    """Return at most `most` lines of about `width` characters, with an ellipsis if text is cut."""
    found = textwrap.wrap(short(text, 2 * width * most), width, max_lines=most, placeholder="\u2026")
    return [short(line, width + 1) for line in found]


def number(value: float | int | None) -> str:
    """Return a number with three significant digits; a dash for None or NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "\u2013"
    if isinstance(value, int) or (math.isfinite(value) and value == int(value) and abs(value) < 1e15):
        return f"{int(value):,}".replace("-", "\u2212")
    if not math.isfinite(value):
        return "\u221e" if value > 0 else "\u2212\u221e"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "\u2212")


def signed(value: float | None) -> str:
    """Return a number with its sign and two decimals, 0 without; a dash for None or NaN."""
    if value is None or math.isnan(value):
        return "\u2013"
    return f"{value:+.2f}".replace("-", "\u2212") if value else "0"


def percent(share: float | None) -> str:
    """Return a share as a percentage without decimals; a dash for None or NaN."""
    return "\u2013" if share is None or math.isnan(share) else f"{100 * share:.0f}\u00a0%"


def seconds(value: float | None) -> str:
    """Return a duration in a suitable unit; a dash for None or NaN."""
    if value is None or math.isnan(value):
        return "\u2013"
    if value < 1:
        return f"{1000 * value:.3g}\u00a0ms"
    if value < 120:
        return f"{value:.3g}\u00a0s"
    return f"{value / 60:.0f}\u00a0min" if value < 7200 else f"{value / 3600:.1f}\u00a0h"
