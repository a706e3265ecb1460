"""Times of day as texts and as minutes since midnight."""

import re

from diary.errors import TimeFault

LAST = 24 * 60


def minutes(text):
    """Return the minutes since midnight of "HH:MM"."""
    match = re.fullmatch(r"(\d\d):(\d\d)", text)
    if not match:
        raise TimeFault(f"HH:MM expected, got {text!r}")
    hours, rest = int(match.group(1)), int(match.group(2))
    total = hours * 60 + rest
    if rest >= 60 or total > LAST:
        raise TimeFault(f"no time of day: {text!r}")
    return total


def clock(total):
    """Return minutes since midnight as "HH:MM"."""
    return f"{total // 60:02d}:{total % 60:02d}"


def length(total):
    """Return a number of minutes in words."""
    hours, rest = divmod(total, 60)
    if hours == 0:
        return f"{rest} min"
    if rest == 0:
        return f"{hours} h"
    return f"{hours} h {rest} min"
